"""PyFlink's results, kept in golden/<program>.json, with the inputs they belong to.

In: session.py's outcomes.  Out: cases and outcomes for test_differential.py.

    python -m oracle.golden               # from tests/: adds cases of new programs, keeps the
    others python -m oracle.golden --all         # runs PyFlink on every case again and rewrites the
    files python -m oracle.golden name ...      # rewrites these programs, inputs included
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

from oracle.catalogue import Case, Program, load
from oracle.compare import Outcome, differences, normalised
from oracle.session import PyFlinkSession
from oracle.strategies import golden_cases

PROGRAMS_PER_SESSION = 24
DIRECTORY = Path(__file__).resolve().parent / "golden"


def path_of(program: str) -> Path:
    """Golden file of a program."""
    return DIRECTORY / f"{program}.json"


def read(program: str) -> list[tuple[Case, Outcome]]:
    """The stored cases with PyFlink's outcomes; empty when there is no file."""
    path = path_of(program)
    if not path.exists():
        return []
    document = json.loads(path.read_text(encoding="utf-8"))
    stored = []
    for label, entry in document["cases"].items():
        data = ast.literal_eval(entry["input"])
        case = Case(program, label, data, entry["parallelism"])
        stored.append((case, entry["outcome"]))
    return stored


def write(program: str, version: str, outcomes: list[tuple[Case, Outcome]]) -> None:
    """Writes a program's golden file."""
    entries: dict[str, Any] = {}
    for case, outcome in outcomes:
        entries[case.label] = {
            "parallelism": case.parallelism,
            "input": repr(case.data),
            "outcome": normalised(outcome),
        }
    document = {"program": program, "pyflink": version, "cases": entries}
    path_of(program).write_text(_json(document) + "\n", encoding="utf-8")


def _json(value: Any, indent: str = "") -> str:
    """JSON with one line per record list: objects are indented, lists are not."""
    if isinstance(value, dict) and value:
        inner = indent + " "
        items = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {_json(item, inner)}"
            for key, item in value.items()
        ]
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    return json.dumps(value, ensure_ascii=False)


def wanted(programs: dict[str, Program], names: list[str], *, everything: bool) -> list[Case]:
    """The cases to run: of new programs, of the named ones, or stored inputs of all."""
    cases: list[Case] = []
    for name, program in programs.items():
        stored = read(name)
        if name in names or not stored:
            if not names or name in names:
                cases += golden_cases(program)
        elif everything:
            cases += [case for case, _ in stored]
    return cases


def rewrite(programs: dict[str, Program], cases: list[Case]) -> int:
    """Runs the cases and writes their programs' files; returns the number of surprises."""
    session = PyFlinkSession()
    outcomes = session.run(cases)
    surprises = 0
    for name in dict.fromkeys(case.program for case in cases):
        own = [(case, outcomes[case.id]) for case in cases if case.program == name]
        for case, outcome in own:
            if ("failure" in outcome) != programs[name].fails:
                surprises += 1
                print(f"UNEXPECTED {case.id} {case.data!r:.200}: {outcome}"[:600], flush=True)
        write(name, session.version, own)
    print(f"wrote {', '.join(dict.fromkeys(case.program for case in cases))}", flush=True)
    return surprises


def check(names: list[str]) -> int:
    """Compares PyFlink with its stored outcomes; returns how many cases differ."""
    stored = [entry for name in names for entry in read(name)]
    outcomes: dict[str, Outcome] = {}
    # A JVM that ran some sixty jobs was seen to stall: a new one every few programs.
    for start in range(0, len(names), PROGRAMS_PER_SESSION):
        part = names[start : start + PROGRAMS_PER_SESSION]
        outcomes |= PyFlinkSession().run([case for case, _ in stored if case.program in part])
    differing = 0
    for case, expected in stored:
        found = differences(expected, outcomes[case.id], names=("stored", "now"))
        differing += bool(found)
        for line in found:
            print(f"{case.id}: {line}", flush=True)
    print(f"{len(stored)} cases, {differing} differ")
    return differing


def main(arguments: list[str]) -> int:
    """Entry point; returns the exit code."""
    programs = load()
    names = [argument for argument in arguments if not argument.startswith("--")]
    unknown = [name for name in names if name not in programs]
    if unknown:
        print(f"no such program: {', '.join(unknown)}")
        return 2
    if "--check" in arguments:
        return 1 if check(names or list(programs)) else 0
    cases = wanted(programs, names, everything="--all" in arguments)
    if not cases:
        print("nothing to do: every program has a golden file")
        return 0
    surprises = 0
    names = list(dict.fromkeys(case.program for case in cases))
    # Files are written after each session, so that an interrupted run keeps what it has.
    for start in range(0, len(names), PROGRAMS_PER_SESSION):
        part = names[start : start + PROGRAMS_PER_SESSION]
        surprises += rewrite(programs, [case for case in cases if case.program in part])
    print(f"{len(cases)} cases, {surprises} with an outcome the program does not declare")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
