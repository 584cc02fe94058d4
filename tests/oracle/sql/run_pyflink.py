"""Runs cases on the real PyFlink; executed by .venv-oracle's python, started by goldens.py.

In: JSON lines {case, mode, rows} in the file argv[1].  Out: JSON lines {case, mode, outcome} in
the file argv[2].  Next: compare.py
"""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from oracle.sql.cases import CASES
from oracle.sql.engine import SqlEngine, shown_change

OPTIONS = {"restart-strategy.type": "none"}


def outcome_of(engine: SqlEngine, asked: dict[str, Any]) -> dict[str, Any]:
    """The changes of a query, or what Flink says against it."""
    case = CASES[asked["case"]]
    rows = eval(asked["rows"], {"Decimal": Decimal}) if asked.get("rows") else None
    try:
        tables = engine.build(case, asked["mode"], rows, OPTIONS)
        with tables.execute_sql(case.sql).collect() as changes:
            return {"changes": [shown_change(change) for change in changes]}
    except Exception as error:  # what Flink says is the answer
        lines = [line.strip() for line in str(error).splitlines()]
        told = [line for line in lines if "Exception: " in line] or lines or [repr(error)]
        return {"refused": told[-1].split("Exception: ")[-1][:300]}


def main(asked_file: str, found_file: str) -> int:
    """Entry point; returns the exit code."""
    engine = SqlEngine("pyflink")
    with Path(found_file).open("w", encoding="utf-8") as output:
        for line in Path(asked_file).read_text(encoding="utf-8").splitlines():
            asked = json.loads(line)
            outcome = outcome_of(engine, asked)
            print(json.dumps({"id": asked["id"], "outcome": outcome}), file=output, flush=True)
            print(asked["id"], outcome.get("refused", ""), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
