"""Where a TIMESTAMP and a TIMESTAMP_LTZ meet: which type the result has.

    .venv-oracle/bin/python tests/oracle/zones/mixed.py

asks Flink and writes tests/golden/mixed_timestamps.json; tests/unit/rel/test_mixed_timestamps.py
compares.  Standard library and PyFlink only.
"""

from __future__ import annotations

import json
from pathlib import Path

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "mixed_timestamps.json"
PAIRS = [
    pair
    for digits in (3, 0, 6)
    for pair in (
        ("TIMESTAMP_LTZ(3)", f"TIMESTAMP({digits})"),
        (f"TIMESTAMP({digits})", "TIMESTAMP_LTZ(3)"),
    )
]


def queries(one: str, other: str) -> dict[str, str]:
    """Queries in which values of two types become one."""
    both = f"(SELECT CAST(NULL AS {one}) AS a, CAST(NULL AS {other}) AS b, 1 AS n)"
    at = "CAST('2020-01-01 00:00:00' AS {})"
    return {
        "CASE": f"SELECT CASE WHEN n > 0 THEN a ELSE b END FROM {both}",
        "COALESCE": f"SELECT COALESCE(a, b) FROM {both}",
        "IF": f"SELECT IF(n > 0, a, b) FROM {both}",
        "IFNULL": f"SELECT IFNULL(a, b) FROM {both}",
        "GREATEST": f"SELECT GREATEST(a, b) FROM {both}",
        "ARRAY": f"SELECT ARRAY[a, b] FROM {both}",
        "UNION": f"SELECT a FROM {both} UNION ALL SELECT b FROM {both}",
        "VALUES": f"SELECT v FROM (VALUES ({at.format(one)}), ({at.format(other)})) AS t(v)",
    }


def main() -> None:
    """Asks Flink."""
    from pyflink.table import EnvironmentSettings, TableEnvironment

    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    lines = []
    for one, other in PAIRS:
        for form, query in queries(one, other).items():
            columns = env.sql_query(query)._j_table.getResolvedSchema().getColumnDataTypes()
            found = columns.get(0).getLogicalType().asSerializableString()
            lines.append(json.dumps({"types": [one, other], "form": form, "type": found}))
    GOLDEN.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
