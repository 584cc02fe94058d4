"""Joins whose changelogs PyFlink is asked for: queries over the sides `l` and `r`.

A line of a script is (side, kind, k, v, seconds).  Both sides have k STRING, v INT, and rt
TIMESTAMP(3) with WATERMARK rt; the line of a script comes to Flink a while behind the one before,
so that both know the order although the sides are two inputs of the join.
"""

from __future__ import annotations

CHANGES = [
    ("l", "+I", "a", 1, 1), ("r", "+I", "a", 5, 1), ("r", "+I", "a", 2, 1), ("l", "+I", "a", 3, 1),
    ("l", "+I", "b", 7, 1), ("l", "+I", None, 4, 1), ("r", "+I", None, 9, 1),
    ("r", "-U", "a", 5, 1), ("r", "+U", "a", 6, 1), ("l", "-U", "a", 3, 1), ("l", "+U", "a", 8, 1),
    ("r", "-D", "a", 6, 1), ("r", "-D", "a", 2, 1), ("r", "+I", "b", 8, 1), ("r", "+I", "b", 8, 1),
    ("l", "+I", "b", 7, 1), ("r", "-D", "b", 8, 1), ("l", "-D", "b", 7, 1), ("r", "-D", "b", 8, 1),
    ("l", "-D", "a", 1, 1), ("l", "-D", None, 4, 1),
]  # fmt: skip

TIMES = [
    ("l", "+I", "a", 1, 10), ("r", "+I", "a", 2, 12), ("r", "+I", "a", 3, 5),
    ("r", "+I", "b", 4, 14), ("l", "+I", "c", 5, 13), ("l", "+I", "a", 6, 16),
    ("r", "+I", "c", 7, 20), ("l", "+I", "b", 8, 21), ("l", "+I", "a", 9, 12),
    ("r", "+I", "a", 10, 14), ("l", "+I", None, 11, 24), ("r", "+I", None, 12, 25),
    ("r", "+I", "a", 13, 30), ("l", "+I", "a", 14, 33), ("r", "+I", "b", 15, 24),
    ("l", "+I", "d", 16, 41), ("r", "+I", "d", 17, 49), ("l", "+I", "a", 18, 47),
    ("r", "+I", "a", 19, 60),
]  # fmt: skip

JOINS = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN"}
COLUMNS = "l.k, l.v, r.k AS rk, r.v AS rv"
WINDOW = "TABLE(TUMBLE(TABLE {0}, DESCRIPTOR(rt), INTERVAL '10' SECOND))"
BOTH_WINDOWS = (
    f"(SELECT * FROM {WINDOW.format('l')}) l {{0}} (SELECT * FROM {WINDOW.format('r')}) r"
)
SAME_WINDOW = "l.window_start = r.window_start AND l.window_end = r.window_end"
VERSIONS = """(SELECT k, v, rt FROM (
    SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY rt DESC) AS n FROM r) WHERE n = 1)"""


def _cases() -> dict[str, tuple[str, str]]:
    """The script and the query of each case."""
    found: dict[str, tuple[str, str]] = {}
    for kind, word in JOINS.items():
        query = f"SELECT {COLUMNS} FROM l {word} r ON l.k = r.k"
        found[f"regular_{kind}"] = ("changes", query)
        found[f"regular_{kind}_less"] = ("changes", f"{query} AND l.v < r.v")
        found[f"interval_{kind}"] = (
            "times",
            f"{query} AND r.rt BETWEEN l.rt - INTERVAL '5' SECOND AND l.rt + INTERVAL '3' SECOND",
        )
        found[f"window_{kind}"] = (
            "times",
            f"SELECT {COLUMNS} FROM {BOTH_WINDOWS.format(word)} ON l.k = r.k AND {SAME_WINDOW}",
        )
    for kind, word in {"semi": "EXISTS", "anti": "NOT EXISTS"}.items():
        inner = "SELECT 1 FROM r WHERE l.k = r.k"
        found[f"regular_{kind}"] = ("changes", f"SELECT k, v FROM l WHERE {word} ({inner})")
        found[f"regular_{kind}_less"] = (
            "changes",
            f"SELECT k, v FROM l WHERE {word} ({inner} AND l.v < r.v)",
        )
        found[f"window_{kind}"] = (
            "times",
            f"SELECT k, v FROM (SELECT * FROM {WINDOW.format('l')}) l WHERE {word} (SELECT 1 FROM "
            f"(SELECT * FROM {WINDOW.format('r')}) r WHERE l.k = r.k AND {SAME_WINDOW})",
        )
    for kind in ("inner", "left"):
        found[f"temporal_{kind}"] = (
            "times",
            f"SELECT {COLUMNS} FROM l {JOINS[kind]} versions FOR SYSTEM_TIME AS OF l.rt AS r "
            "ON l.k = r.k",
        )
    return found


SCRIPTS = {"changes": CHANGES, "times": TIMES}
CASES = _cases()
