"""What DuckDB answers to Nexmark's queries.

In: a file of events (benchmarks/nexmark/events.py, flat).  Out: rows.  Most queries run as they are
written, with a few functions of Flink's as macros; those with windows and with a table as of a time
have a text of their own here.  q12 asks for the time of the machine: nobody knows its answer.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import duckdb

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

from nexmark import events, queries

__all__ = ["QUERIES", "answers", "events", "queries"]

QUERIES = tuple(name for name in queries.NAMES if name != "q12")

MACROS = """
CREATE MACRO DATE_FORMAT(moment, pattern) AS
    strftime(moment, CASE pattern WHEN 'HH:mm' THEN '%H:%M' WHEN 'yyyy-MM-dd' THEN '%Y-%m-%d' END);
CREATE MACRO SPLIT_INDEX(text, separator, place) AS
    nullif(split_part(text, separator, place + 1), '');
CREATE MACRO FIRST_MATCH(text, pattern, place) AS
    CASE WHEN regexp_matches(text, pattern) THEN regexp_extract(text, pattern, place) END;
CREATE MACRO WHOLE_AVG(x) AS CAST(sum(x) // count(x) AS BIGINT);
"""
# what Flink writes otherwise
WORDS = {"`": '"', "REGEXP_EXTRACT": "FIRST_MATCH", "AVG(": "WHOLE_AVG("}

HOPS = """
    SELECT auction, count(*) AS num, starts
    FROM (
        SELECT auction, unnest(generate_series(
            time_bucket(INTERVAL 2 SECOND, "dateTime") - INTERVAL 8 SECOND,
            time_bucket(INTERVAL 2 SECOND, "dateTime"),
            INTERVAL 2 SECOND)) AS starts
        FROM bid)
    GROUP BY auction, starts
"""
OWN = {
    "q5": f"""
        WITH counted AS ({HOPS})
        SELECT auction, num FROM counted
        WHERE num >= (SELECT max(num) FROM counted AS same WHERE same.starts = counted.starts)""",
    "q7": """
        WITH highest AS (
            SELECT max(price) AS price, time_bucket(INTERVAL 10 SECOND, "dateTime") AS starts
            FROM bid GROUP BY starts)
        SELECT auction, bid.price, bidder, "dateTime", extra
        FROM bid JOIN highest ON bid.price = highest.price
        WHERE "dateTime" BETWEEN starts AND starts + INTERVAL 10 SECOND""",
    "q8": """
        SELECT DISTINCT person.id, name, time_bucket(INTERVAL 10 SECOND, person."dateTime")
        FROM person JOIN auction ON person.id = seller
            AND time_bucket(INTERVAL 10 SECOND, person."dateTime")
              = time_bucket(INTERVAL 10 SECOND, auction."dateTime")""",
    "q11": """
        WITH gaps AS (
            SELECT bidder, "dateTime", coalesce("dateTime" - lag("dateTime") OVER earlier
                >= INTERVAL 10 SECOND, true) AS fresh
            FROM bid WINDOW earlier AS (PARTITION BY bidder ORDER BY "dateTime")),
        numbered AS (
            SELECT *, sum(fresh::INT) OVER (PARTITION BY bidder ORDER BY "dateTime") AS session
            FROM gaps)
        SELECT bidder, count(*), min("dateTime"), max("dateTime") + INTERVAL 10 SECOND
        FROM numbered GROUP BY bidder, session""",
    "q13": """
        SELECT auction, bidder, price, "dateTime", "value"
        FROM bid JOIN side_input ON auction % 10000 = "key" """,
}


def text_of(query: str) -> str:
    """A query in DuckDB's words."""
    if query in OWN:
        return OWN[query]
    text = queries.select(query)
    for theirs, ours in WORDS.items():
        text = text.replace(theirs, ours)
    return text


def answers(folder: Path, names: tuple[str, ...] = QUERIES) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each query over the files in a folder."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute(MACROS)
        for table, place in (("events", "events"), ("side_input", "side")):
            files = str(folder / place / "*.parquet")
            connection.execute(f"CREATE TABLE {table} AS FROM read_parquet('{files}')")
        script = (queries.FOLDER / "tables_flat.sql").read_text().replace("`", '"')
        for statement in script.split(";")[1:]:  # the first one declares the files
            if statement.strip():
                connection.execute(statement)
        return {name: connection.execute(text_of(name)).fetchall() for name in names}
