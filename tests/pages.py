"""Runs the documentation: the files, programs and commands of a page, in order, in one directory.

What a fence means:

    ```python                            a program: run, all of a page in one namespace
    ```python title="orders.py"          a file: written; so is every block with the name of a file
    ```output                            what the program before it prints
    ```output title="in any order"       the same lines, in any order
    ```console                           a terminal: a command behind every "$ ", then its output
    ```console title="in any order"      the same; also: "after a moment", tried again until it
                                         prints that

Other fences (text, sh, toml) are for the reader only.  In outputs ``...`` stands for anything, and
a line of ``...`` for any lines.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from patience import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
# Where the programs of a page of docs/ run: in this process, or on Spark.
LOCAL = [
    "async-io.md",
    "cep.md",
    "continuous.md",
    "execution-mode.md",
    "expressions.md",
    "formats.md",
    "how-to/cluster.md",
    "how-to/sinks.md",
    "how-to/test-programs.md",
    "how-to/write-a-connector.md",
    "joins.md",
    "metrics.md",
    "operations.md",
    "savepoints.md",
    "sql-client.md",
    "sql-match.md",
    "sql.md",
    "windows.md",
]
ON_SPARK = [
    "../README.md",
    "install.md",
    "how-to/sources.md",
    "how-to/notebooks.md",
    "how-to/debugging.md",
    "tutorial.md",
]

_FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]*)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"[\w./-]+\.\w+")
_END = "__end_of_command__"


@dataclass(frozen=True)
class Block:
    """A fence of a page."""

    kind: str
    title: str
    text: str
    line: int

    @property
    def file(self) -> str | None:
        """The name of the file that it is, if it is one."""
        return self.title if _FILE_NAME.fullmatch(self.title) else None


def blocks_of(page: Path) -> list[Block]:
    """All fences of a page."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found[1], found[2] or "", found[3], text.count("\n", 0, found.start()) + 1)
        for found in _FENCE.finditer(text)
    ]


def has_programs(page: Path) -> bool:
    """Whether there is something to run."""
    return any(block.kind in ("python", "console") for block in blocks_of(page))


def run_page(page: Path, folder: Path) -> None:
    """Run a page and compare what it prints.

    Args:
        page: the page.
        folder: empty; `work` is made in it, where everything happens, and a home for jobs.
    """
    blocks, work = blocks_of(page), folder / "work"
    work.mkdir()
    names: dict[str, Any] = {"__name__": "__main__"}
    printed: str | None = None
    with contextlib.chdir(work), _terminal(work, folder / "home") as terminal:
        for block in blocks:
            where = f"{page.name}, line {block.line}"
            if block.kind == "output":
                assert printed is not None, f"{where}: nothing was run before"
                _check(block.text, printed, where, any_order=block.title == "in any order")
                printed = None
            elif block.file is not None:
                (work / block.file).write_text(block.text, encoding="utf-8")
            elif block.kind == "python":
                printed = _run_program(block, work, names)
            elif block.kind == "console":
                terminal.run_block(block, where)


def _run_program(block: Block, work: Path, names: dict[str, Any]) -> str:
    """Run a program as if it were the file `program.py`, which is what errors then name."""
    file = str(work / "program.py")
    Path(file).write_text(block.text, encoding="utf-8")
    linecache.checkcache(file)
    names["__file__"] = file
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(block.text, file, "exec"), names)
    return printed.getvalue()


# --- comparing -----------------------------------------------------------------------------------


def _pattern(line: str) -> str:
    return ".*".join(map(re.escape, line.rstrip().split("...")))


def fits(expected: str, printed: str, *, any_order: bool = False) -> bool:
    """Whether an output is what a page promises."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    promised = expected.strip("\n").splitlines()
    if any_order:
        for pattern in map(_pattern, promised):
            found = next((line for line in lines if re.fullmatch(pattern, line)), None)
            if found is None:
                return False
            lines.remove(found)
        return not lines
    whole = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else _pattern(line) + r"\n" for line in promised
    )
    return re.fullmatch(whole, "".join(f"{line}\n" for line in lines)) is not None


def _check(expected: str, printed: str, where: str, *, any_order: bool = False) -> None:
    if not fits(expected, printed, any_order=any_order):
        raise AssertionError(f"{where}\n--- the page says\n{expected}\n--- it prints\n{printed}")


# --- a terminal ----------------------------------------------------------------------------------


class Terminal:
    """One bash for a whole page: variables and directories stay."""

    def __init__(self, work: Path, home: Path) -> None:
        self._home = home
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=work,
            env={
                **os.environ,
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "HEADRACE_HOME": str(home),
                "COLUMNS": "100",
            },
            start_new_session=True,
        )

    def run_block(self, block: Block, where: str) -> None:
        """Run the commands of a block and compare what each of them prints."""
        any_order = block.title == "in any order"
        for command, expected in _commands(block.text):
            deadline = time.monotonic() + PATIENCE_S
            printed = self.run(command)
            while block.title == "after a moment" and not fits(expected, printed):
                if time.monotonic() > deadline:
                    break
                time.sleep(0.3)
                printed = self.run(command)
            _check(expected, printed, f"{where}: $ {command}", any_order=any_order)

    def run(self, command: str) -> str:
        """What a command prints, with what it says on standard error."""
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        # in braces, so that no command reads those that follow
        self._shell.stdin.write(f"{{\n{command}\n}} < /dev/null\nprintf '\\n{_END}\\n'\n")
        self._shell.stdin.flush()
        lines = iter(self._shell.stdout.readline, f"{_END}\n")
        return "".join(lines).removesuffix("\n")

    def close(self) -> None:
        """End the shell and all jobs that it left running."""
        for entry in self._home.glob("jobs/*.json"):
            with contextlib.suppress(ProcessLookupError, KeyError, ValueError):
                os.killpg(json.loads(entry.read_text())["pid"], signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()


@contextlib.contextmanager
def _terminal(work: Path, home: Path) -> Iterator[Terminal]:
    terminal = Terminal(work, home)
    try:
        yield terminal
    finally:
        terminal.close()


def _commands(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        more = 1
        while more < len(lines) and lines[more].startswith("> "):
            more += 1
        command = lines[0] + "".join(line.removeprefix("> ") for line in lines[1:more])
        yield command.rstrip("\n"), "".join(lines[more:])
