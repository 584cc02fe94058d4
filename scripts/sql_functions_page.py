"""Writes docs/reference/sql-functions.md: every function of Flink SQL, and whether it is there.

python scripts/sql_functions_page.py            rewrites the page

The names are Flink's (2.3); what a function does is said by its entry in scalars/functions/, by the
rules of aggregates, or here for what is syntax.  A function that is not there has a reason here:
tests/structure/test_sql_functions_page.py counts them.
"""

from __future__ import annotations

from pathlib import Path

from headrace.scalars.aggregate_rules import aggregate_form, aggregate_names
from headrace.scalars.functions.registry import all_entries

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "sql-functions.md"
HEAD = """# SQL functions

Written by `make golden` from the functions in the code; do not edit.

Every function of Flink 2.3's SQL, by its group. Types of results, NULL, edges and errors are those
of Flink: most functions are tested against answers of the real one (`tests/golden/scalars/`).

"""
TAIL = """## What differs

- Regular expressions are Java's. Not there, and refused with an error: `\\G`, `\\X`, `\\b{g}`,
  `(?U)`, scripts and blocks of Unicode (`\\p{IsGreek}`), look-behind of varying length.
- `TRIM` and its kin take every character of their second argument away. Flink takes spaces only if
  that argument begins with a space and comes from a column.
- `ARRAY_SORT` puts NaN behind all numbers; Flink leaves it where its sorting drops it.
- `SHA2(x, 1)` is an error; in Flink it is SHA-1 if the 1 comes from a column.
- `PRINTF` refuses arrays, maps, rows and bytes, of which Flink prints an address in memory.
- Keys of maps are no arrays and no maps.
- `JSON_OBJECT` takes keys that are no constants, and `JSON` may stand anywhere. Paths may test for
  existence (`[?(@.a)]`) and lists (`[?(@.a in [1, 2])]`), for which Flink 2.3 lacks a class.
- A bare NULL fits every parameter; Flink wants it cast in most places.
- `EXTRACT`, `FLOOR` and `CEIL` give what a calendar and a clock show. Before 1970 Flink rounds
  towards zero. Days and more of a `TIMESTAMP_LTZ` begin at midnight in the zone of the session;
  where that zone changes its clock, they begin at 23:00 or at 01:00 in Flink.
- `LAG` and `LEAD` give their default for a line that is not there; a NULL that is there stays NULL.
  With a default that is never NULL Flink shows -1, an empty text or FALSE instead, or fails.
  `IGNORE NULLS` behind them is refused; Flink takes it and does not look at it.
"""
# The functions of Flink by group; names in the order of its documentation.
FLINK: dict[str, str] = {
    "Comparison": "= <> > >= < <= IS_NULL IS_NOT_NULL IS_DISTINCT_FROM IS_NOT_DISTINCT_FROM BETWEEN"
    " NOT_BETWEEN LIKE NOT_LIKE SIMILAR_TO NOT_SIMILAR_TO IN NOT_IN EXISTS",
    "Logical": "OR AND NOT IS_FALSE IS_NOT_FALSE IS_TRUE IS_NOT_TRUE IS_UNKNOWN IS_NOT_UNKNOWN",
    "Arithmetic": "+ - * / % MOD POWER ABS SQRT LN LOG10 LOG2 LOG EXP CEIL CEILING FLOOR SIN SINH"
    " COS TAN TANH COT ASIN ACOS ATAN ATAN2 COSH DEGREES RADIANS SIGN ROUND PI E RAND RAND_INTEGER"
    " UUID BIN HEX UNHEX TRUNCATE",
    "Strings": "|| CHAR_LENGTH CHARACTER_LENGTH UPPER LOWER POSITION PRINTF TRIM LTRIM RTRIM BTRIM"
    " REPEAT REGEXP_REPLACE OVERLAY STARTSWITH ENDSWITH SUBSTRING REPLACE REGEXP_COUNT"
    " REGEXP_EXTRACT REGEXP_EXTRACT_ALL REGEXP_INSTR REGEXP_SUBSTR TRANSLATE INITCAP CONCAT"
    " CONCAT_WS LPAD RPAD FROM_BASE64 TO_BASE64 ASCII CHR DECODE ENCODE INSTR LEFT RIGHT LOCATE"
    " URL_DECODE URL_ENCODE INET_ATON INET_NTOA PARSE_URL REGEXP REVERSE SPLIT_INDEX STR_TO_MAP"
    " SUBSTR JSON_QUOTE JSON_UNQUOTE ELT",
    "Date and time": "DATE TIME TIMESTAMP INTERVAL LOCALTIME LOCALTIMESTAMP CURRENT_TIME"
    " CURRENT_DATE CURRENT_TIMESTAMP NOW CURRENT_ROW_TIMESTAMP EXTRACT YEAR QUARTER MONTH WEEK"
    " DAYOFYEAR DAYOFMONTH DAYOFWEEK HOUR MINUTE SECOND OVERLAPS DATE_FORMAT TIMESTAMPADD"
    " TIMESTAMPDIFF CONVERT_TZ FROM_UNIXTIME UNIX_TIMESTAMP TO_DATE TO_TIMESTAMP_LTZ TO_TIMESTAMP"
    " CURRENT_WATERMARK SOURCE_WATERMARK PROCTIME",
    "Conditional": "CASE NULLIF COALESCE IF IFNULL IS_ALPHA IS_DECIMAL IS_DIGIT GREATEST LEAST",
    "Conversion": "CAST TRY_CAST TYPEOF",
    "Collections": "CARDINALITY ITEM ELEMENT ARRAY_APPEND ARRAY_CONTAINS ARRAY_DISTINCT"
    " ARRAY_POSITION ARRAY_PREPEND ARRAY_REMOVE ARRAY_REVERSE ARRAY_SLICE ARRAY_SORT ARRAY_UNION"
    " ARRAY_CONCAT ARRAY_EXCEPT ARRAY_INTERSECT ARRAY_MAX ARRAY_JOIN ARRAY_MIN MAP_KEYS MAP_UNION"
    " MAP_VALUES MAP_ENTRIES MAP_FROM_ARRAYS SPLIT",
    "JSON": "IS_JSON_VALUE IS_JSON_SCALAR IS_JSON_ARRAY IS_JSON_OBJECT JSON_EXISTS JSON_STRING"
    " JSON_VALUE JSON_QUERY JSON_OBJECT JSON JSON_ARRAY",
    "Variants": "PARSE_JSON TRY_PARSE_JSON",
    "Values": "ROW ARRAY MAP DESCRIPTOR OBJECT_OF OBJECT_UPDATE FIELD",
    "Grouping": "GROUP_ID GROUPING GROUPING_ID",
    "Hashes": "MD5 SHA1 SHA224 SHA256 SHA384 SHA512 SHA2 HASH_CODE",
    "Bitmaps": "BITMAP_AND BITMAP_ANDNOT BITMAP_BUILD BITMAP_CARDINALITY BITMAP_FROM_BYTES"
    " BITMAP_OR BITMAP_TO_ARRAY BITMAP_TO_BYTES BITMAP_TO_STRING BITMAP_XOR BITMAP_AND_AGG"
    " BITMAP_AND_CARDINALITY_AGG BITMAP_BUILD_AGG BITMAP_BUILD_CARDINALITY_AGG BITMAP_OR_AGG"
    " BITMAP_OR_CARDINALITY_AGG BITMAP_XOR_AGG BITMAP_XOR_CARDINALITY_AGG",
    "Aggregates": "COUNT AVG SUM $SUM0 MAX MIN STDDEV STDDEV_POP STDDEV_SAMP VAR_POP VAR_SAMP"
    " VARIANCE COLLECT RANK DENSE_RANK ROW_NUMBER LEAD LAG FIRST_VALUE LAST_VALUE LISTAGG CUME_DIST"
    " PERCENT_RANK NTILE ARRAY_AGG JSON_OBJECTAGG JSON_ARRAYAGG PERCENTILE APPROX_COUNT_DISTINCT"
    " SINGLE_VALUE",
    "Matches": "FIRST LAST MATCH_ROWTIME MATCH_PROCTIME",
    "Catalogs": "CURRENT_DATABASE",
}
# What the parser and the resolver know without an entry: how it is written, and what it gives.
SYNTAX: dict[str, tuple[str, str]] = {
    "EXISTS": ("EXISTS (query)", "Whether a query has lines."),
    "DATE": ("DATE '2024-01-31'", "A date that stands in the query."),
    "TIME": ("TIME '10:00:00'", "A time that stands in the query."),
    "TIMESTAMP": ("TIMESTAMP '2024-01-31 10:00:00'", "A timestamp that stands in the query."),
    "INTERVAL": ("INTERVAL '10' MINUTE", "An interval that stands in the query."),
    "CASE": ("CASE [value] WHEN .. THEN .. [ELSE ..] END", "The first branch that is true."),
    "CAST": ("CAST(value AS type)", "The value as another type; an error if it is none."),
    "TRY_CAST": ("TRY_CAST(value AS type)", "The value as another type; NULL if it is none."),
    "DESCRIPTOR": ("DESCRIPTOR(column)", "A column by name, for window table functions."),
    "FIELD": ("row.field", "A field of a row."),
    "GROUPING": ("GROUPING(key, ...)", "Which keys a line of GROUPING SETS is grouped by."),
    "GROUPING_ID": ("GROUPING_ID(key, ...)", "The same as GROUPING."),
    "GROUP_ID": ("GROUP_ID()", "Which of several equal grouping sets a line is of."),
    "FIRST": (
        "FIRST(a.x)` or `FIRST(a.x, n)",
        "In MATCH_RECOGNIZE: of the first line of a variable and n lines on.",
    ),
    "LAST": (
        "LAST(a.x)` or `LAST(a.x, n)",
        "In MATCH_RECOGNIZE: of the last line of a variable and n lines back.",
    ),
    "MATCH_ROWTIME": (
        "MATCH_ROWTIME()` or `MATCH_ROWTIME(rowtime)",
        "In MATCH_RECOGNIZE: the event time of a match, a time attribute.",
    ),
    "MATCH_PROCTIME": (
        "MATCH_PROCTIME()",
        "In MATCH_RECOGNIZE: the processing time of a match, a time attribute.",
    ),
}
_BITMAPS = "there is no type BITMAP: collect values with ARRAY_AGG or COLLECT"
_OBJECTS = "values are made of Java classes: use ROW(...), or a function of your own"
# Why a function is not there.
NOT_THERE: dict[str, str] = {
    "SOURCE_WATERMARK": "declare the watermark as an expression: WATERMARK FOR ts AS ts",
    "CURRENT_DATABASE": "ask the environment: get_current_database()",
    "PARSE_JSON": "there is no type VARIANT: keep the text, and use JSON_VALUE and JSON_QUERY",
    "TRY_PARSE_JSON": "there is no type VARIANT: keep the text, and use JSON_VALUE and JSON_QUERY",
    "OBJECT_OF": _OBJECTS,
    "OBJECT_UPDATE": _OBJECTS,
    **dict.fromkeys(FLINK["Bitmaps"].split(), _BITMAPS),
}


def flink_names() -> list[str]:
    """All names, as entries are called: words of a predicate with blanks between them."""
    return [_entry_name(word) for words in FLINK.values() for word in words.split()]


def _entry_name(word: str) -> str:
    predicate = word.startswith(("IS_", "NOT_", "SIMILAR_")) and word not in _ONE_WORD
    return word.replace("_", " ") if predicate else word


_ONE_WORD = ("IS_ALPHA", "IS_DECIMAL", "IS_DIGIT")


def row(name: str) -> str:
    """The line of a function: how it is written, what it does, or why it is not there."""
    entry = all_entries().get(name)
    if entry is not None:
        return _line(" or ".join(_code(form) for form in entry.forms), entry.doc)
    if name in SYNTAX:
        form, doc = SYNTAX[name]
        return _line(_code(form), doc)
    if name in aggregate_names():
        return _line(_code(aggregate_form(name)), "An aggregate.")
    return _line(_code(name), f"**Not there**: {NOT_THERE[name]}.")


def _code(text: str) -> str:
    return f"`{text}`"


def _line(form: str, doc: str) -> str:
    cells = [cell.replace("|", "\\|") for cell in (form, doc)]
    return f"| {' | '.join(cells)} |"


def page() -> str:
    """The page as it should be."""
    parts = [HEAD]
    for group, words in FLINK.items():
        parts.append(f"## {group}\n\n| function | gives |\n| --- | --- |\n")
        rows = dict.fromkeys(row(_entry_name(word)) for word in words.split())  # aliases are one
        parts += [f"{each}\n" for each in rows]
        parts.append("\n")
    return "".join(parts) + TAIL


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
