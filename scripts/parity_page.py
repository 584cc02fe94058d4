"""Compares headrace with PyFlink's public names and writes the list in docs/coming-from-flink.md.

In: tests/parity/pyflink_names.txt (facts) and docs/parity.toml (what differs, and why).
Out: the part of the page between its two markers; src/headrace/missing_names.py.  A name that no
rule mentions must be *same*: it exists in headrace with the same parameters, in the same order,
with the same defaults.

    python scripts/parity_page.py            rewrites the page; exit code 1 names what needs a rule
    python scripts/parity_page.py --check    writes nothing
"""

from __future__ import annotations

import enum
import fnmatch
import importlib
import inspect
import json
import re
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from headrace.missing import MissingName

ROOT = Path(__file__).resolve().parent.parent
NAMES = ROOT / "tests" / "parity" / "pyflink_names.txt"
RULES = ROOT / "docs" / "parity.toml"
PAGE = ROOT / "docs" / "coming-from-flink.md"
MISSING = ROOT / "src" / "headrace" / "missing_names.py"
BEGIN = "<!-- names: begin, written by scripts/parity_page.py -->"
END = "<!-- names: end -->"

SAME, DIFFERS, NOT_YET = "same", "differs", "not yet"


@dataclass(frozen=True)
class Name:
    """One line of pyflink_names.txt."""

    module: str
    path: str
    parameters: str | None

    @property
    def full(self) -> str:
        return f"{self.module}:{self.path}"


@dataclass(frozen=True)
class Rule:
    """One exception: names, what became of them, and the reason."""

    match: tuple[str, ...]
    status: str
    note: str

    def covers(self, name: Name) -> bool:
        return any(fnmatch.fnmatchcase(name.full, pattern) for pattern in self.match)


@dataclass(frozen=True)
class Verdict:
    """What the page says about a name, and what is wrong with saying so ("" when it is true)."""

    name: Name
    status: str
    note: str
    problem: str


@cache
def read_names() -> tuple[Name, ...]:
    names = []
    for line in NAMES.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"([\w.]+):([\w.]+)(\(.*\))?", line)
        if match is None:
            raise SystemExit(f"{NAMES}: cannot read the line {line!r}")
        names.append(Name(match[1], match[2], match[3]))
    return tuple(names)


@cache
def read_rules() -> tuple[Rule, ...]:
    table = tomllib.loads(RULES.read_text(encoding="utf-8"))
    rules = tuple(
        Rule(tuple(rule["match"]), rule["status"], rule["note"]) for rule in table["rule"]
    )
    for rule in rules:
        if rule.status not in (DIFFERS, NOT_YET):
            raise SystemExit(f"{RULES}: status {rule.status!r} is not one of differs, not yet")
    return rules


def find(name: Name) -> object | None:
    """The object of this name in headrace, or None."""
    try:
        found: object = importlib.import_module(ours(name.module))
    except ModuleNotFoundError:
        return None
    for part in name.path.split("."):
        # getattr_static would miss members of enums; getattr misses nothing that a user can write.
        missing = object()
        found = getattr(found, part, missing)
        if found is missing or isinstance(found, MissingName):
            return None
    return found


def difference(name: Name, found: object) -> str:
    """How the parameters differ from PyFlink's, or ""."""
    if name.parameters in (None, "(java)", "(...)"):
        return ""
    try:
        # Looked up on the class, __init__ would show `self`: the class itself shows it bound.
        ours = parameters(inspect.signature(found))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "cannot be called"
    theirs = split_parameters(name.parameters or "")
    shared, extra = ours[: len(theirs)], ours[len(theirs) :]
    wrong = [f"{t} is {o}" for t, o in zip(theirs, shared, strict=False) if not agrees(t, o)]
    wrong += [f"{t} is missing" for t in theirs[len(shared) :]]
    # Conveniences come on top: more parameters are fine as long as nobody has to give them.
    wrong += [f"{o} is needed" for o in extra if "=" not in o and not o.startswith("*")]
    return "; ".join(wrong)


def split_parameters(text: str) -> list[str]:
    """Cuts "(a, b=(1, 2))" at the commas of the outer level; a bare * only marks keyword-only."""
    parts, depth, current = [], 0, ""
    for letter in text[1:-1]:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += letter
    return [part for part in [*parts, current.strip()] if part not in ("", "*")]


STARS: dict[enum.IntEnum, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def parameters(signature: inspect.Signature) -> list[str]:
    """Our parameters in the form of pyflink_names.txt."""
    shown = []
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        stars = STARS.get(parameter.kind, "")
        default = parameter.default
        text = "" if default is parameter.empty else f"={shown_default(default)}"
        shown.append(f"{stars}{parameter.name}{text}")
    return shown


def shown_default(value: object) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, bool | int | float | str | list | dict | tuple):
        return repr(value)
    return "..."


def agrees(theirs: str, ours: str) -> bool:
    if theirs.endswith("=..."):  # a default that has no short form: any default will do
        return ours.split("=")[0] == theirs.split("=")[0] and "=" in ours
    return theirs == ours


def judge(name: Name) -> Verdict:
    """Applies the first rule that covers the name, or else demands that it is the same."""
    found = find(name)
    rule = next((rule for rule in read_rules() if rule.covers(name)), None)
    if rule is None:
        problem = "is not in headrace" if found is None else difference(name, found)
        return Verdict(name, SAME, "", problem)
    if rule.status == NOT_YET and found is not None:
        return Verdict(name, rule.status, rule.note, "is in headrace: its rule is out of date")
    if rule.status == DIFFERS and found is None:
        return Verdict(name, rule.status, rule.note, "is not in headrace: it should be `not yet`")
    return Verdict(name, rule.status, rule.note, "")


@cache
def verdicts() -> tuple[Verdict, ...]:
    return tuple(judge(name) for name in read_names())


def page_part() -> str:
    """The generated part of the page: a summary, then a table a module."""
    counts = Counter(verdict.status for verdict in verdicts())
    lines = [
        f"{len(verdicts()):,} names: {counts[SAME]:,} same, {counts[DIFFERS]:,} differ, "
        f"{counts[NOT_YET]:,} not yet.",
    ]
    for module in dict.fromkeys(name.module for name in read_names()):
        lines += [
            "",
            f"### {module}",
            "",
            "| name | status | how, or why not |",
            "| --- | --- | --- |",
        ]
        lines += [
            f"| `{verdict.name.path}` | {verdict.status} | {verdict.note} |"
            for verdict in verdicts()
            if verdict.name.module == module
        ]
    return "\n".join(lines)


def page_text() -> str:
    """The whole page with its generated part renewed."""
    head, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{page_part()}\n\n{END}{tail}"


def missing_text() -> str:
    """The module that tells headrace itself what is missing."""
    modules: dict[str, str] = {}
    names: dict[str, str] = {}
    for entry in tomllib.loads(RULES.read_text(encoding="utf-8"))["module"]:
        modules |= dict.fromkeys(entry["match"], entry["note"])
    for module in dict.fromkeys(name.module for name in read_names()):
        mine = [v for v in verdicts() if v.name.module == module and "." not in v.name.path]
        absent = {f"{module}:{v.name.path}": v.note for v in mine if v.status == NOT_YET}
        if len(absent) == len(mine):
            modules[module] = mine[0].note
        else:
            names |= absent
    return (
        '"""What PyFlink has and headrace has not, and why: for missing.py.\n\n'
        'Written by scripts/parity_page.py from docs/parity.toml: run `make golden`.\n"""\n\n'
        "from __future__ import annotations\n\n"
        "# with everything below them\n"
        f"MODULES: dict[str, str] = {_shown(modules)}\n\n"
        f"NAMES: dict[str, str] = {_shown(names)}\n"
    )


def _shown(notes: dict[str, str]) -> str:
    lines = (
        f"    {json.dumps(ours(name))}: {_quoted(note)}," for name, note in sorted(notes.items())
    )
    return "\n".join(["{", *lines, "}"])


def _quoted(note: str) -> str:
    """As the formatter would: in the quotes that need no escapes."""
    single = '"' in note and "'" not in note
    return f"'{note}'" if single else json.dumps(note, ensure_ascii=False)


def ours(name: str) -> str:
    return name.replace("pyflink", "headrace", 1)


def main() -> int:
    problems = [verdict for verdict in verdicts() if verdict.problem]
    for verdict in problems:
        print(f"{verdict.name.full} ({verdict.status}): {verdict.problem}")
    if "--check" not in sys.argv:
        PAGE.write_text(page_text(), encoding="utf-8")
        MISSING.write_text(missing_text(), encoding="utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
