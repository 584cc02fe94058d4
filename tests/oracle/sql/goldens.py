"""PyFlink's answers, kept in golden/<group>.json; asks for them.

    python -m oracle.sql.goldens             # from tests/: cases that have no answer yet
    python -m oracle.sql.goldens --all       # every case
    python -m oracle.sql.goldens name ...    # these

In: cases/.  Out: golden/.  Next: run_pyflink.py runs there
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from oracle import session
from oracle.sql.cases import CASES, GROUPS

HERE = Path(__file__).resolve().parent
DIRECTORY = HERE / "golden"
# A JVM that ran some sixty jobs was seen to stall.
JOBS_PER_SESSION = 30


def read(group: str) -> dict[str, Any]:
    """Outcomes by case and mode."""
    path = DIRECTORY / f"{group}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def write(group: str, answers: dict[str, Any]) -> None:
    """One line a case and mode."""
    parts = []
    for name in GROUPS[group]:
        if name in answers:
            modes = [f"  {json.dumps(mode)}: {_text(a)}" for mode, a in answers[name].items()]
            parts.append(f" {json.dumps(name)}: {{\n" + ",\n".join(modes) + "\n }")
    path = DIRECTORY / f"{group}.json"
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _text(answer: Any) -> str:
    return json.dumps(answer, ensure_ascii=False)


def ask(asked: list[dict[str, Any]]) -> dict[str, Any]:
    """PyFlink's outcomes by id.

    Raises:
        session.OracleError: it could not be run.
    """
    found: dict[str, Any] = {}
    for start in range(0, len(asked), JOBS_PER_SESSION):
        with tempfile.TemporaryDirectory(prefix="oracle-sql-") as scratch:
            part = asked[start : start + JOBS_PER_SESSION]
            asked_file, found_file = Path(scratch) / "asked", Path(scratch) / "found"
            asked_file.write_text("\n".join(map(json.dumps, part)), encoding="utf-8")
            session.run_script(
                HERE / "run_pyflink.py",
                [asked_file, found_file],
                Path(scratch),
                120 + 10 * len(part),
            )
            for line in found_file.open(encoding="utf-8"):
                answer = json.loads(line)
                found[answer["id"]] = answer["outcome"]
    return found


def main(arguments: list[str]) -> int:
    """Entry point; returns the exit code."""
    names = [each for each in arguments if not each.startswith("--")]
    stored = {group: read(group) for group in GROUPS}
    groups = {name: group for group, members in GROUPS.items() for name in members}
    asked = []
    for name, case in CASES.items():
        known = stored[groups[name]].get(name, {})
        for mode in case.modes:
            if name in names or (not names and ("--all" in arguments or mode not in known)):
                asked.append({"id": f"{name}/{mode}", "case": name, "mode": mode})
    asked.sort(key=lambda each: each["mode"], reverse=True)  # streaming first: it says more
    for start in range(0, len(asked), JOBS_PER_SESSION):
        surprises = _keep(ask(asked[start : start + JOBS_PER_SESSION]), stored, groups)
        print("\n".join(surprises), flush=True)
    return 0


def _keep(answers: dict[str, Any], stored: dict[str, Any], groups: dict[str, str]) -> list[str]:
    surprises = []
    for each, outcome in answers.items():
        name, mode = each.split("/")
        if ("refused" in outcome) is not CASES[name].refused:
            surprises.append(f"UNEXPECTED {each}: {outcome}"[:500])
        stored[groups[name]].setdefault(name, {})[mode] = outcome
    for group in {groups[each.split("/")[0]] for each in answers}:
        write(group, stored[group])
    return surprises


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
