"""What users of Spark, PostgreSQL, MySQL and BigQuery write, and how Flink's SQL says it.

In: the tokens around the place where parsing failed (stream.py), names of functions that nobody
knows (rel/ asks `function_advice`).  Out: the `fix` of the error, None if nothing is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sql.keywords import INTERVAL_UNITS
from headrace.sql.tokens import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Sequence

# Signs that other dialects have.
_SIGNS = {
    "::": "Flink's SQL has no `::`: write CAST(x AS type), or TRY_CAST to get NULL for bad values",
    "!=": "write <> instead of !=",
    "==": "write = instead of ==",
    "&&": "write AND instead of &&",
    "!": "write NOT instead of !",
    "&": "Flink's SQL has no bit operators: register a scalar function",
    "^": "Flink's SQL has no bit operators: write POWER(a, b) if a power is meant",
    "~": "Flink's SQL has no ~: write REGEXP(x, 'pattern')",
    "@": "Flink's SQL has no variables in queries",
    "?": "Flink's SQL has no parameters: put the value into the text",
    "->": "Flink's SQL has no ->: write JSON_VALUE(x, '$.name') for JSON, m['name'] for maps",
    "{": "write functions and literals without braces: DATE '2024-01-31', not {d '2024-01-31'}",
    '"': "double quotes mean nothing here: write names in `backticks`, strings in 'single quotes'",
    "\\": r"a backslash is no escape: write '' for a quote in a string, U&'\000a' for signs",
    "#": "comments begin with --",
}

# Words at which parsing fails, and what Flink has instead.
_WORDS = {
    "ILIKE": "write LOWER(x) LIKE LOWER(pattern)",
    "RLIKE": "write REGEXP(x, 'pattern')",
    "REGEXP": "write REGEXP(x, 'pattern')",
    "GLOB": "write x LIKE 'pattern', with % and _",
    "DIV": "write a / b: dividing whole numbers gives a whole number",
    "MINUS": "write EXCEPT instead of MINUS",
    "TOP": "write LIMIT n behind the query instead of TOP n",
    "PIVOT": "write an aggregate with FILTER (WHERE ..) for each column",
    "UNPIVOT": "write CROSS JOIN UNNEST(ARRAY[..]) for the columns",
    "TABLESAMPLE": "Flink's SQL cannot sample: write WHERE RAND() < 0.1",
    "ASOF": "write JOIN t FOR SYSTEM_TIME AS OF a.ts",
    "APPLY": "write CROSS JOIN LATERAL TABLE(f(x)), or LEFT JOIN LATERAL TABLE(f(x)) ON TRUE",
    "EXPLODE": "write CROSS JOIN UNNEST(x) AS t (item)",
    "DISTRIBUTE": "Flink distributes by itself: GROUP BY, PARTITION BY and joins decide",
    "CLUSTER": "Flink distributes by itself: GROUP BY, PARTITION BY and joins decide",
    "STORED": "write WITH ('connector' = 'filesystem', 'path' = '..', 'format' = '..')",
    "TBLPROPERTIES": "write WITH ('key' = 'value')",
    "MERGE": "write INSERT INTO a table with a PRIMARY KEY: it updates lines by their key",
    "UPSERT": "write INSERT INTO: a table with a PRIMARY KEY is updated by its key",
    "RETURNING": "Flink's SQL gives no lines back from INSERT",
    "SERIAL": "Flink's SQL has no generated keys: take BIGINT",
    "NVL": "write COALESCE(a, b)",
    "SAFE_CAST": "write TRY_CAST(x AS type)",
    "FILTERED": "write agg(x) FILTER (WHERE condition)",
    "REPLACE": "Flink replaces tables only: CREATE OR REPLACE TABLE t .. AS SELECT; for a view "
    "write DROP VIEW IF EXISTS first",
}

# Functions that Flink has under another name; all capitals.
_FUNCTIONS = {
    "ADD_MONTHS": "TIMESTAMPADD(MONTH, n, x)",
    "ARRAY_SIZE": "CARDINALITY(x)",
    "BOOL_AND": "MIN(x) of a CASE that gives 0 or 1",
    "CHARINDEX": "POSITION(a IN b)",
    "COLLECT_LIST": "ARRAY_AGG(x)",
    "COLLECT_SET": "ARRAY_AGG(DISTINCT x)",
    "CURDATE": "CURRENT_DATE",
    "DATEADD": "TIMESTAMPADD(DAY, n, x), or x + INTERVAL '1' DAY",
    "DATEDIFF": "TIMESTAMPDIFF(DAY, a, b)",
    "DATEPART": "EXTRACT(DAY FROM x)",
    "DATE_ADD": "TIMESTAMPADD(DAY, n, x), or x + INTERVAL '1' DAY",
    "DATE_DIFF": "TIMESTAMPDIFF(DAY, a, b)",
    "DATE_PART": "EXTRACT(DAY FROM x)",
    "DATE_SUB": "TIMESTAMPADD(DAY, -n, x), or x - INTERVAL '1' DAY",
    "DATE_TRUNC": "FLOOR(x TO HOUR), with the unit as a word,",
    "EXPLODE": "CROSS JOIN UNNEST(x) AS t (item)",
    "GETDATE": "CURRENT_TIMESTAMP",
    "GET_JSON_OBJECT": "JSON_VALUE(x, '$.path')",
    "GROUP_CONCAT": "LISTAGG(x, ',')",
    "ISNULL": "x IS NULL",
    "JSON_EXTRACT": "JSON_VALUE(x, '$.path'), or JSON_QUERY for objects and arrays",
    "LEN": "CHAR_LENGTH(x)",
    "LENGTH": "CHAR_LENGTH(x)",
    "NVL": "COALESCE(a, b)",
    "NVL2": "CASE WHEN a IS NOT NULL THEN b ELSE c END",
    "REGEXP_LIKE": "REGEXP(x, 'pattern')",
    "RLIKE": "REGEXP(x, 'pattern')",
    "SAFE_CAST": "TRY_CAST(x AS type)",
    "SIZE": "CARDINALITY(x)",
    "STRFTIME": "DATE_FORMAT(x, 'yyyy-MM-dd')",
    "STRING_AGG": "LISTAGG(x, ',')",
    "STRPOS": "POSITION(b IN a)",
    "STR_TO_DATE": "TO_DATE(x, 'yyyy-MM-dd')",
    "SYSDATE": "CURRENT_TIMESTAMP",
    "TO_CHAR": "DATE_FORMAT(x, 'yyyy-MM-dd')",
    "TO_JSON": "JSON_STRING(x)",
    "TO_NUMBER": "CAST(x AS DECIMAL(p, s))",
    "TRUNC": "FLOOR(x TO DAY) for times, TRUNCATE(x, n) for numbers",
    "WINDOW": "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) behind FROM",
}

# Names of types that Flink has under another name.
_TYPES = {
    "BIGSERIAL": "BIGINT",
    "BLOB": "BYTES",
    "BOOL": "BOOLEAN",
    "BYTE": "TINYINT",
    "BYTEA": "BYTES",
    "CLOB": "STRING",
    "DATETIME": "TIMESTAMP(3)",
    "FLOAT4": "FLOAT",
    "FLOAT64": "DOUBLE",
    "FLOAT8": "DOUBLE",
    "INT2": "SMALLINT",
    "INT4": "INT",
    "INT64": "BIGINT",
    "INT8": "BIGINT",
    "JSON": "STRING, and JSON_VALUE to look into it",
    "JSONB": "STRING, and JSON_VALUE to look into it",
    "LONG": "BIGINT",
    "NUMBER": "DECIMAL(p, s)",
    "NVARCHAR": "VARCHAR(n), or STRING",
    "REAL": "FLOAT",
    "SERIAL": "INT",
    "SHORT": "SMALLINT",
    "STRUCT": "ROW<name type, ..>",
    "TEXT": "STRING",
    "TIMESTAMPTZ": "TIMESTAMP_LTZ(3)",
    "TIMESTAMP_NTZ": "TIMESTAMP(3)",
    "UUID": "STRING",
}

# What other dialects write behind a star, to leave columns out or exchange them.
_STAR_CHANGES = {"EXCEPT", "EXCLUDE", "EXCLUDING", "REPLACE", "RENAME"}

_PLURALS = {f"{unit}S" for unit in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "WEEK")}


def function_advice(name: str) -> str | None:
    """What to call instead of a function that Flink does not have; for errors about its name."""
    instead = _FUNCTIONS.get(name.upper())
    return None if instead is None else f"write {instead} instead of {name.upper()}"


def type_advice(name: str) -> str | None:
    """What to write instead of a type that Flink does not have."""
    instead = _TYPES.get(name.upper())
    return None if instead is None else f"write {instead} instead of {name.upper()}"


def advice_for(tokens: Sequence[Token], index: int, text: str) -> str | None:
    """What to write instead of what stands at, or just before, the place of an error."""
    for look in (
        _string_before, _at_sign, _interval, _units, _after_limit, _behind_star, _by_all, _calls,
        _at_word,
    ):  # fmt: skip
        advice = look(tokens, index, text)
        if advice is not None:
            return advice
    return None


def _string_before(tokens: Sequence[Token], index: int, text: str) -> str | None:
    r"""`'it\'s'` is the string `it\` with an s behind it, and then a string that never ends."""
    before = tokens[max(0, index - 4) : index]
    if any(each.kind is TokenKind.STRING and each.value.endswith("\\") for each in before):
        return "a backslash is no escape: write '' for a quote in a string"
    token = tokens[index]
    if token.kind is TokenKind.BAD and text[token.start] == "'":
        return "close the string with a single quote; a quote in a string is written ''"
    if token.kind is TokenKind.BAD and text[token.start] == "`":
        return "close the name with a backtick; a backtick in a name is written ``"
    return None


def _at_sign(tokens: Sequence[Token], index: int, text: str) -> str | None:
    token = tokens[index]
    if token.kind is TokenKind.SIGN or token.kind is TokenKind.BAD:
        return _SIGNS.get(text[token.start : token.end])
    return None


def _interval(tokens: Sequence[Token], index: int, text: str) -> str | None:
    """`INTERVAL '1 minute'` has its unit in the string."""
    del text
    if index < 2 or tokens[index - 2].key != "INTERVAL":
        return None
    number, _, unit = str(tokens[index - 1].value).strip().partition(" ")
    unit = unit.strip().upper()
    known = unit if unit in INTERVAL_UNITS else unit.removesuffix("S")
    if known not in INTERVAL_UNITS:
        return None
    return f"write the unit behind the string: INTERVAL '{number}' {known}"


def _units(tokens: Sequence[Token], index: int, text: str) -> str | None:
    del text
    key = tokens[index].key
    if key in _PLURALS and index and tokens[index - 1].key in {"(", "TO"}:
        return f"units are in the singular here: write {key[:-1]}"
    return None


def _after_limit(tokens: Sequence[Token], index: int, text: str) -> str | None:
    del text
    if tokens[index].key == "," and index >= 2 and tokens[index - 2].key == "LIMIT":
        return "write LIMIT count OFFSET start instead of LIMIT start, count"
    if tokens[index].key == "LIMIT" and any(t.key == "OFFSET" for t in tokens[index - 3 : index]):
        return "write LIMIT in front of OFFSET"
    return None


def _behind_star(tokens: Sequence[Token], index: int, text: str) -> str | None:
    """`* EXCEPT (a)` fails at a, as EXCEPT is that of two queries; `* EXCLUDE (a)` at EXCLUDE."""
    del text
    for place in range(max(1, index - 2), index + 1):
        if tokens[place].key in _STAR_CHANGES and tokens[place - 1].key == "*":
            return f"Flink's SQL has no * {tokens[place].key}: name the columns that are wanted"
    return None


def _by_all(tokens: Sequence[Token], index: int, text: str) -> str | None:
    """`GROUP BY ALL` fails behind ALL, `ORDER BY ALL` at it."""
    del text
    for place in (index, index - 1):
        if place >= 2 and tokens[place].key == "ALL" and tokens[place - 1].key == "BY":
            clause = f"{tokens[place - 2].key} BY"
            return f"Flink's SQL has no {clause} ALL: name the columns, {clause} a, b"
    return None


def _calls(tokens: Sequence[Token], index: int, text: str) -> str | None:
    """`DATEADD(DAY, ..)` fails at DAY, which is no value; `DATE_TRUNC(..)` at its name."""
    del text
    if index >= 2 and tokens[index - 1].key == "(":
        return function_advice(tokens[index - 2].key)
    called = index + 1 < len(tokens) and tokens[index + 1].key == "("
    return function_advice(tokens[index].key) if called else None


def _at_word(tokens: Sequence[Token], index: int, text: str) -> str | None:
    del text
    if tokens[index].key == "LATERAL" and tokens[index + 1].key == "VIEW":
        return "write CROSS JOIN UNNEST(x) AS t (item) instead of LATERAL VIEW"
    if (
        index >= 2
        and tokens[index - 1].key == "TABLE"
        and tokens[index - 2].key in {"FROM", "JOIN"}
    ):
        return "TABLE is reserved: as a name it needs backticks, `table`"
    for token in (tokens[index], tokens[index - 1] if index else tokens[index]):
        if token.kind is TokenKind.WORD and token.key in _WORDS:
            return _WORDS[token.key]
    return None
