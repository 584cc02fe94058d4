"""What stands in front of OVER: neighbours with NULLs, and what is refused."""

from __future__ import annotations

import pytest

from headrace.errors import SqlError
from rel_tables import final_table, resolved

OVER = "OVER (ORDER BY a)"


def asked(call: str) -> str:
    return f"SELECT a, b, {call} {OVER} FROM orders"


def test_the_default_of_lag_is_not_for_a_null_that_is_there() -> None:
    later = "(SELECT a + 10 AS a, CAST(NULL AS BIGINT) AS b FROM orders WHERE a = 1)"
    both = f"(SELECT a, b FROM orders UNION ALL SELECT a, b FROM {later})"
    query = f"SELECT a, LAG(b, 1, a * 100) OVER (ORDER BY a) FROM {both} WHERE a <> 2"
    assert final_table(query) == [(1, 100), (11, None), (3, 10), (4, 30)]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("NTH_VALUE(b, 2)", "NTH_VALUE is no aggregate function: it cannot stand in front of OVER"),
        ("UPPER(k)", "UPPER is no aggregate function"),
        ("FIRST_VALUE(b) RESPECT NULLS", "RESPECT NULLS cannot stand behind FIRST_VALUE"),
        ("SUM(b) IGNORE NULLS", "IGNORE NULLS cannot stand behind SUM"),
        ("LAG(b) IGNORE NULLS", "IGNORE NULLS behind LAG is not supported"),
    ],
)
def test_what_is_not_done_is_refused(call: str, told: str) -> None:
    with pytest.raises(SqlError, match=told) as found:
        resolved(asked(call))
    assert found.value.fix


@pytest.mark.parametrize("call", ["LAG(b) RESPECT NULLS", "ARRAY_AGG(b) IGNORE NULLS"])
def test_what_is_done_may_be_said(call: str) -> None:
    resolved(asked(call))
