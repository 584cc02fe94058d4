"""What DESCRIBE writes of computed columns is what Flink writes, but for what it rewrites."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.table import EnvironmentSettings, TableEnvironment
from oracle.describes.ask_pyflink import TABLE

GOLDEN = Path(__file__).parents[2] / "golden" / "described.json"
# Flink writes what its validator has made of these, and names in backticks as they were typed;
# headrace writes expressions as they are, and names in capitals.
REWRITTEN = {
    "TRANSLATE(a, 'a', 'b')",
    "JSON_QUERY(a, '$.x')",
    "JSON_OBJECT('k' VALUE a)",
    "JSON_ARRAY(a, n)",
    "-n",
    "n BETWEEN 1 AND 2",
    "n NOT BETWEEN 1 AND 2",
    "CASE n WHEN 1 THEN 'a' END",
    "NULLIF(a, 'b')",
    "TRY_CAST(a AS INT)",
    "ARRAY[n, 1]",
    "YEAR(ts)",
    "QUARTER(ts)",
    "MONTH(dt)",
    "WEEK(dt)",
    "DAYOFYEAR(dt)",
    "DAYOFWEEK(dt)",
    "HOUR(ts)",
    "X'ab'",
    "split(a, ',')",
    "Split(a, ',')",
}


def test_computed_columns_are_written_as_flink_writes_them() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    flinks: dict[str, str] = json.loads(GOLDEN.read_text(encoding="utf-8"))
    differing = set()
    for expression, wanted in flinks.items():
        t_env.execute_sql("DROP TEMPORARY TABLE IF EXISTS e")
        t_env.execute_sql(TABLE.format(expression))
        with t_env.execute_sql("DESCRIBE e").collect() as lines:
            *_, last = lines
        if last[4] != f"AS {wanted}":
            differing.add(expression)
    assert differing == REWRITTEN
