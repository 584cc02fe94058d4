"""JSON: tests, paths, values, constructors."""

from __future__ import annotations

from typing import Any

from oracle.scalar_cases import Argument, c, case, i, n, s

_NONE: Argument = ("NULL", None)
_STORE = (
    '{"store": {"book": [{"title": "A", "price": 8.95, "isbn": "1", "tags": ["x", "y"]}, '
    '{"title": "B", "price": 12, "author": {"name": "N"}}, {"title": "C", "price": 22.5, '
    '"isbn": null}], "bicycle": {"color": "red", "price": 19.95}}, "expensive": 10, '
    '"a b": 1, "k.d": true, "nil": null, "e": [], "o": {}, "n": [3, 1, 2], "s": "te\\"xt", '
    '"x": [[1, 2], [3]], "big": 12345678901234567890, "f": 1.50, "neg": -0.0, "exp": 1e3}'
)
# Filters that test existence, and those with lists (in, size, contains...), fail in Flink 2.3 for
# want of a class.
_PATHS = [
    "$",
    "$.expensive",
    "$.store.bicycle.color",
    "$.store.book[0].title",
    "$.store.book[-1].title",
    "$.store.book[*].title",
    "$.store.book[0,2].title",
    "$.store.book[0:2].title",
    "$['a b']",
    "$.store.book[:2].price",
    "$.store.book[1:].price",
    "$.store.book[-2:].title",
    '$["a b"]',
    "$.store.book[?(@.price < 10)].title",
    "$..price",
    "$..book[0]",
    "$.store.book[?(@.price > $.expensive)].title",
    "$.store.book[?(@.title == 'B')]",
    "$.nil",
    "$.store.*",
    "$.n[*]",
    "$.n[5]",
    "$.missing",
    "$.missing.deep",
    "$.e",
    "$.e[0]",
    "$.o",
    "$.o.x",
    "$.n.length()",
    "$.n.max()",
    "$.n.min()",
    "$.n.sum()",
    "$.n.avg()",
    "$.store.book.length()",
    "$.s",
    "$.x[0][1]",
    "$.x[*][0]",
    "$.x[1]",
    "$['store']['bicycle']['color','price']",
    "$.store.book[?(@.price >= 12 && @.price < 22)].title",
    "$.store.book[?(@.price < 9 || @.title == 'C')].title",
    "$.store.book[?(@.title =~ /[ab]/i)].title",
    "$.store.book[?(@.author.name == 'N')].title",
    "$.store.book[?(@.title != 'A')].title",
    "$.big",
    "$.f",
    "$.store.book[?(@.isbn == null)].title",
    "$.neg",
    "$.n[?(@ > 1)]",
    "$.k.d",
    "$['k.d']",
    "expensive",
    "$.",
    "$..",
    "$[",
    "",
    "$.store.book[a]",
    "$.n[1:2]",
    "$.n[0:9]",
    "$.n[::2]",
    "$.exp",
    "$.expensive.x",
    "$.expensive[0]",
    "$.s[0]",
    "$.store.book[0].tags[*]",
    "$..tags",
    "$..nope",
    "$.store..title",
    "$.keys()",
    "$.store.book[?(@['price'] < 10)].title",
    "$.store.book[?(@.price == 12)].title",
    "$ .expensive",
    "$.store.book[?('A' == @.title)].title",
    "$.store.book[?(@.price < '9')].title",
    "$.n.stddev()",
    "$.store.book[?(@.length() > 3)].title",
    "$.n.first()",
    "$.n.last()",
    "$.n.index(1)",
    "$.N",
    "$.store.book[?(@.nope == 1)]",
    "$.n[-4]",
]
_DOCUMENTS = [
    "1",
    '"a"',
    "null",
    "true",
    "{}",
    "[]",
    '{"a":1}',
    "[1,2]",
    "",
    " ",
    "{",
    "{'a':1}",
    "abc",
    "1 2",
    ' {"a": [1, {"b": null}]} ',
    "[1,]",
    "01",
    "1.",
    ".5",
    "-1",
    "1e5",
    "NaN",
    '"a\nb"',
    '{"a":1} x',
    '"\\u00e4"',
    "nul",
    "[1",
    '{"a":1,"a":2}',
    "+1",
    '{"a" 1}',
    "Infinity",
    "tru",
    '{"a":1}}',
    "1e400",
]


def value(json: str | None, path: str, sql: str, *clauses: Any) -> dict[str, Any]:
    """JSON_VALUE with clauses: RETURNING, ON EMPTY and its default, ON ERROR and its default."""
    returning, empty, empty_value, error, error_value = clauses
    arguments = (s(json), c(path), (returning, None), c(empty), empty_value, c(error), error_value)
    return case("JSON_VALUE", *arguments, sql=f"JSON_VALUE({{0}}, {{1}}{sql})")


def query(json: str | None, path: str, sql: str, *clauses: Any) -> dict[str, Any]:
    """JSON_QUERY with clauses: RETURNING, wrapper, ON EMPTY, ON ERROR."""
    returning, wrapper, empty, error = clauses
    arguments = (s(json), c(path), (returning, None), c(wrapper), c(empty), c(error))
    return case("JSON_QUERY", *arguments, sql=f"JSON_QUERY({{0}}, {{1}}{sql})")


def _values() -> list[dict[str, Any]]:
    made = []
    for json, path in [
        ('{"a": 1}', "lax $.a"),
        ('{"a": 1}', "strict $.b"),
        ('{"a": 1}', "lax $.b"),
        ('{"a": [1]}', "lax $.a"),
        ('{"a": [1]}', "strict $.a"),
        ("{", "lax $.a"),
        ("{", "strict $.a"),
        ('{"a": null}', "lax $.a"),
        ('{"a": null}', "strict $.a"),
        (None, "$.a"),
    ]:
        d1, d2 = c("dflt"), c("wrong")
        made += [
            value(json, path, " DEFAULT 'dflt' ON EMPTY", "STRING", "DEFAULT", d1, "NULL", _NONE),
            value(json, path, " DEFAULT 'wrong' ON ERROR", "STRING", "NULL", _NONE, "DEFAULT", d2),
            value(json, path, " ERROR ON EMPTY", "STRING", "ERROR", _NONE, "NULL", _NONE),
            value(json, path, " ERROR ON ERROR", "STRING", "NULL", _NONE, "ERROR", _NONE),
        ]
    for json in ["1", "1.5", '"1"', "true", '"true"', "null", "3000000000", "1e2", '"x"']:
        for returning in ["INT", "DOUBLE", "BOOLEAN", "STRING"]:
            text = f" RETURNING {returning}"
            document = f'{{"a": {json}}}'
            made.append(value(document, "$.a", text, returning, "NULL", _NONE, "NULL", _NONE))
    made.append(
        value('{"a": 1}', "$.a", " RETURNING BIGINT", "BIGINT", "NULL", _NONE, "NULL", _NONE)
    )
    made.append(
        value(
            "{}",
            "lax $.a",
            " RETURNING INT DEFAULT 7 ON EMPTY",
            "INT",
            "DEFAULT",
            n(7),
            "NULL",
            _NONE,
        )
    )
    return made


def _queries() -> list[dict[str, Any]]:
    made = []
    for json, path in [
        ('{"a": [1, "x", null, {"b": 1}]}', "$.a"),
        ('{"a": {"b": 1}}', "$.a"),
        ('{"a": 1}', "lax $.a"),
        ('{"a": 1}', "strict $.a"),
        ('{"a": 1}', "lax $.b"),
        ('{"a": 1}', "strict $.b"),
        ("{", "lax $"),
        ("{", "strict $"),
        ('{"a": "x"}', "$.a"),
        ('{"a": null}', "lax $.a"),
        (None, "$.a"),
    ]:
        made += [
            query(
                json,
                path,
                " WITH CONDITIONAL WRAPPER",
                "STRING",
                "WITH CONDITIONAL ARRAY",
                "NULL",
                "NULL",
            ),
            query(
                json,
                path,
                " WITH UNCONDITIONAL ARRAY WRAPPER",
                "STRING",
                "WITH UNCONDITIONAL ARRAY",
                "NULL",
                "NULL",
            ),
            query(
                json,
                path,
                " EMPTY ARRAY ON EMPTY EMPTY OBJECT ON ERROR",
                "STRING",
                "WITHOUT ARRAY",
                "EMPTY ARRAY",
                "EMPTY OBJECT",
            ),
            query(
                json,
                path,
                " EMPTY OBJECT ON EMPTY EMPTY ARRAY ON ERROR",
                "STRING",
                "WITHOUT ARRAY",
                "EMPTY OBJECT",
                "EMPTY ARRAY",
            ),
            query(json, path, " ERROR ON EMPTY", "STRING", "WITHOUT ARRAY", "ERROR", "NULL"),
            query(json, path, " ERROR ON ERROR", "STRING", "WITHOUT ARRAY", "NULL", "ERROR"),
            query(
                json,
                path,
                " RETURNING ARRAY<STRING>",
                "ARRAY<STRING>",
                "WITHOUT ARRAY",
                "NULL",
                "NULL",
            ),
            query(
                json,
                path,
                " RETURNING ARRAY<STRING> WITH WRAPPER EMPTY ARRAY ON ERROR",
                "ARRAY<STRING>",
                "WITH UNCONDITIONAL ARRAY",
                "NULL",
                "EMPTY ARRAY",
            ),
        ]
    return made


_VALUES: list[Argument] = [
    s('te"x\\t/ä\n\u0001'),
    i(1),
    ("BIGINT", 9007199254740993),
    ("DOUBLE", "1.5"),
    ("DOUBLE", "1e20"),
    ("FLOAT", "1.1"),
    ("DECIMAL(6, 3)", "1.500"),
    ("BOOLEAN", True),
    ("DATE", "2024-01-02"),
    ("TIMESTAMP(3)", "2024-01-02 03:04:05.006"),
    ("TIMESTAMP(3)", "2024-01-02 03:04:00"),
    ("TIMESTAMP_LTZ(3)", "2024-01-02 03:04:05.100"),
    ("TIMESTAMP(6)", "2024-01-02 03:04:05.123456"),
    ("BYTES", "616263"),
    ("ARRAY<INT>", [1, None]),
    ("MAP<STRING, INT>", [["b", 1], ["a", None]]),
    ("ROW<b INT, a STRING>", [1, "x"]),
    ("ARRAY<ROW<z INT>>", [[1], [2]]),
    s(None),
    ("TINYINT", 1),
    ("MAP<INT, INT>", [[1, 1]]),
    ("TIME", "01:02:03"),
    ("DOUBLE", "100"),
    ("DECIMAL(20, 0)", "5"),
    ("DOUBLE", "NaN"),
    ("DOUBLE", "1.0e-5"),
    ("FLOAT", "16384.5"),
    ("DECIMAL(10, 8)", "0.00000001"),
]

CASES = [
    *(
        case(name, s(json), sql=f"{{0}} {name}")
        for name in ["IS JSON VALUE", "IS JSON OBJECT", "IS JSON ARRAY", "IS JSON SCALAR"]
        for json in [*_DOCUMENTS, None]
    ),
    *(
        case(name, s(json), sql=f"{{0}} {name}")
        for name in [
            "IS NOT JSON VALUE",
            "IS NOT JSON OBJECT",
            "IS NOT JSON ARRAY",
            "IS NOT JSON SCALAR",
        ]
        for json in ["1", "{}", "[]", "{", None]
    ),
    case("IS JSON VALUE", s("{}"), sql="{0} IS JSON"),
    case("IS JSON VALUE", c("{}"), sql="{0} IS JSON"),
    case("IS JSON VALUE", n(1), sql="{0} IS JSON"),
    *(
        case(name, s(_STORE), c(f"{mode}{path}"))
        for path in _PATHS
        for mode in ("lax ", "strict ")
        for name in ("JSON_EXISTS", "JSON_VALUE", "JSON_QUERY")
        if path
    ),
    *(
        case("JSON_VALUE", s(_STORE), c(path))
        for path in ("$.expensive", "LAX $.s", " lax  $.s", "lax")
    ),
    *(
        case(
            "JSON_EXISTS",
            s(json),
            c(path),
            c(kind),
            sql=f"JSON_EXISTS({{0}}, {{1}} {kind} ON ERROR)",
        )
        for kind in ("TRUE", "FALSE", "UNKNOWN", "ERROR")
        for json, path in [
            ('{"a":1}', "$.a"),
            ('{"a":1}', "strict $.b"),
            ('{"a":1}', "lax $.b"),
            ("{", "strict $.a"),
            ("{", "lax $.a"),
            (None, "$.a"),
        ]
    ),
    *_values(),
    *_queries(),
    # quoting
    *(
        case("JSON_QUOTE", s(text))
        for text in ["", "abc", 'a"b\\c/d', "\b\f\n\r\t", "ä語", "😀", "\u0001", None]
    ),
    *(
        case("JSON_UNQUOTE", s(text))
        for text in [
            '"abc"',
            "abc",
            '"a\\"b\\\\\\/"',
            '"\\b\\f\\n\\r\\t"',
            '"\\u00e4"',
            '"bad',
            "123",
            '"\\x"',
            '{"a":"b"}',
            '""',
            '"',
            "",
            '"\\ud83d\\ude00"',
            None,
            ' "a" ',
            "null",
        ]
    ),
    case("JSON_QUOTE", c("a")),
    case("JSON_UNQUOTE", c('"a"')),
    # constructors: the first argument says what becomes of NULL and which values are JSON already
    case("JSON_OBJECT", c("NULL"), c(""), sql="JSON_OBJECT()"),
    case(
        "JSON_OBJECT",
        c("NULL"),
        c("vv"),
        c("b"),
        i(1),
        c("a"),
        s(None),
        sql="JSON_OBJECT({2} VALUE {3}, {4} VALUE {5})",
    ),
    case(
        "JSON_OBJECT",
        c("ABSENT"),
        c("vv"),
        c("b"),
        i(1),
        c("a"),
        s(None),
        sql="JSON_OBJECT(KEY {2} VALUE {3}, KEY {4} VALUE {5} ABSENT ON NULL)",
    ),
    case(
        "JSON_OBJECT",
        c("NULL"),
        c("vv"),
        c("k"),
        i(1),
        c("k"),
        i(2),
        sql="JSON_OBJECT(KEY {2} VALUE {3}, KEY {4} VALUE {5})",
    ),
    case("JSON_OBJECT", c("NULL"), c("v"), s("k"), i(1), sql="JSON_OBJECT({2} VALUE {3})"),
    case("JSON_ARRAY", c("ABSENT"), c(""), sql="JSON_ARRAY()"),
    case(
        "JSON_ARRAY", c("ABSENT"), c("vvv"), i(1), s(None), s("x"), sql="JSON_ARRAY({2}, {3}, {4})"
    ),
    case(
        "JSON_ARRAY",
        c("NULL"),
        c("vvv"),
        i(1),
        s(None),
        s("x"),
        sql="JSON_ARRAY({2}, {3}, {4} NULL ON NULL)",
    ),
    case("JSON_ARRAY", c("ABSENT"), c("r"), c('["a",{"b":1}]'), sql="JSON_ARRAY(JSON({2}))"),
    case(
        "JSON_OBJECT",
        c("NULL"),
        c("r"),
        c("k"),
        c("[1]"),
        sql="JSON_OBJECT({2} VALUE JSON_ARRAY(1))",
    ),
    *(case("JSON_STRING", each) for each in _VALUES),
    case("JSON_STRING", ("INT NOT NULL", 1)),
    *(
        case("JSON_ARRAY", c("NULL"), c("v"), each, sql="JSON_ARRAY({2} NULL ON NULL)")
        for each in _VALUES
    ),
    *(
        case("JSON_ARRAY", c("NULL"), c("r"), s(json), sql="JSON_ARRAY(JSON({2}) NULL ON NULL)")
        for json in [
            '{"b": 1,  "a": [1, 2.50]}',
            " [1] ",
            "1",
            "",
            "  ",
            "{",
            None,
            '"x"',
            '{"a":1,"a":2}',
            "1.0",
            "1e2",
            "12345678901234567890123",
            '"\\u00e4/"',
            "0.10",
        ]
    ),
]
