"""The files of a checkout of Flink: a work tree, or a git directory without one.

In: ``FLINK_SRC``.  Out: classes as java_syntax.py reads them.  Next: java_values.py
"""

from __future__ import annotations

import re
import subprocess
from functools import cached_property
from pathlib import Path

from flink_programs.java_syntax import JavaClass, read_class

PLANNER_TESTS = "flink-table/flink-table-planner/src/test/java"
_OPTION = re.compile(r"\b([A-Z][A-Z0-9_]+)\s*=\s*(?:ConfigOptions\s*\.\s*)?key\(\s*\"([^\"]+)\"")

_USE = re.compile(r"\b(\w+TestPrograms)\s*\.\s*([A-Z][A-Z0-9_]+)\b")


class Checkout:
    """Where Flink's sources are."""

    def __init__(self, root: str) -> None:
        self.root = Path(root)
        self._classes: dict[str, JavaClass | None] = {}

    @cached_property
    def paths(self) -> list[str]:
        """All Java files."""
        if (self.root / "flink-table").is_dir():
            return [str(p.relative_to(self.root)) for p in self.root.glob("flink-*/**/*.java")]
        return self._git("ls-tree", "-r", "HEAD", "--name-only").split("\n")

    def _git(self, *words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(self.root), *words], check=True, capture_output=True, text=True
        ).stdout

    def text(self, path: str) -> str:
        """The text of a file."""
        if (self.root / path).is_file():
            return (self.root / path).read_text()
        return self._git("show", f"HEAD:{path}")

    @cached_property
    def _by_name(self) -> dict[str, str]:
        ranked = sorted(self.paths, key=lambda path: PLANNER_TESTS in path)
        return {path.rsplit("/", 1)[-1].removesuffix(".java"): path for path in ranked}

    def files(self, folder: str, ending: str) -> list[str]:
        """The files right in a folder whose names end in some way, in order."""
        if (self.root / folder).is_dir():
            found = [f"{folder}/{path.name}" for path in (self.root / folder).iterdir()]
        else:
            found = self._git("ls-tree", "HEAD", "--name-only", f"{folder}/").split("\n")
        return sorted(path for path in found if path.endswith(ending))

    def program_files(self) -> list[str]:
        """The files that have table programs."""
        return sorted(
            path
            for path in self.paths
            if path.startswith(PLANNER_TESTS) and path.endswith("TestPrograms.java")
        )

    def only_in_batch_mode(self) -> set[tuple[str, str]]:
        """Class and field of the programs that no test runs in streaming mode."""
        found: dict[bool, set[tuple[str, str]]] = {True: set(), False: set()}
        for path in self.paths:
            if path.startswith(PLANNER_TESTS) and path.endswith("Test.java"):
                text = self.text(path)
                base = re.search(r"extends\s+(\w*)(?:Restore|Semantic)TestBase", text)
                if base is not None:
                    found[base.group(1) == "Batch"].update(_USE.findall(text))
        return found[True] - found[False]

    def java_class(self, name: str) -> JavaClass | None:
        """A class of the planner's tests by its name; None for others."""
        if name not in self._classes:
            path = self._by_name.get(name, "")
            known = "src/test/java" in path and "flink-table" in path
            self._classes[name] = read_class(self.text(path)) if known else None
        return self._classes[name]

    def option_keys(self, name: str) -> dict[str, str]:
        """The keys of a class of options, by the names of its fields."""
        path = self._by_name.get(name)
        return {} if path is None else dict(_OPTION.findall(self.text(path)))
