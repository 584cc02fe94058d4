"""Arrays, maps and rows."""

from __future__ import annotations

from oracle.scalar_cases import Argument, c, case, i, n, s


def a(*items: int | None) -> Argument:
    """An ARRAY<INT> that may be NULL."""
    return ("ARRAY<INT>", list(items))


def t(*items: str | None) -> Argument:
    """An ARRAY<STRING> that may be NULL."""
    return ("ARRAY<STRING>", list(items))


_NO_ARRAY: Argument = ("ARRAY<INT>", None)
_ARRAYS = [a(3, 1, 2), a(1, None, 1, None), a(None), _NO_ARRAY]
_MAP: Argument = ("MAP<STRING, INT>", [["a", 1], ["b", None]])
_NO_MAP: Argument = ("MAP<STRING, INT>", None)
_ROW: Argument = ("ROW<a INT, b STRING>", [1, "x"])
_BOOLEANS = [("BOOLEAN NOT NULL", True), ("BOOLEAN NOT NULL", False), ("BOOLEAN", None)]
_ITEM = "{0}[{1}]"

CASES = [
    # constructors
    case("ARRAY", n(1), n(2), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", n(1), i(None), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", n(1), ("BIGINT NOT NULL", 2), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", n(1), ("DECIMAL(4, 2) NOT NULL", "1.50"), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", c("a"), c("bcd"), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", c("ab"), s("x"), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", n(1), c("a"), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", ("NULL", None), n(1), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", ("NULL", None), sql="ARRAY[{0}]"),
    case("ARRAY", a(1), a(2), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", n(1), ("DOUBLE NOT NULL", "1.5"), sql="ARRAY[{0}, {1}]"),
    case("ARRAY", sql="ARRAY[]"),
    case("MAP", c("a"), n(1), c("bc"), n(2), sql="MAP[{0}, {1}, {2}, {3}]"),
    case("MAP", c("a"), n(1), c("bc"), ("BIGINT", 2), sql="MAP[{0}, {1}, {2}, {3}]"),
    case("MAP", c("a"), n(1), c("a"), n(2), sql="MAP[{0}, {1}, {2}, {3}]"),
    case("MAP", i(1), s("x"), sql="MAP[{0}, {1}]"),
    case("MAP", c("a"), sql="MAP[{0}]"),
    case("MAP", sql="MAP[]"),
    case("ROW", n(1), s("x"), sql="ROW({0}, {1})"),
    case("ROW", n(1), ("NULL", None), sql="ROW({0}, {1})"),
    case("ROW", i(None), sql="ROW({0})"),
    # items
    *(case("ITEM", a(10, None, 30), i(place), sql=_ITEM) for place in (1, 2, 3, 4, None)),
    case("ITEM", a(10), i(0), sql=_ITEM),
    case("ITEM", a(10), i(-1), sql=_ITEM),
    case("ITEM", a(10), n(0), sql=_ITEM),
    case("ITEM", _NO_ARRAY, i(1), sql=_ITEM),
    case("ITEM", ("ARRAY<INT NOT NULL> NOT NULL", [1, 2]), n(2), sql=_ITEM),
    case("ITEM", a(10), ("BIGINT NOT NULL", 1), sql=_ITEM),
    *(case("ITEM", _MAP, s(key), sql=_ITEM) for key in ("a", "b", "z", None)),
    case("ITEM", _NO_MAP, s("a"), sql=_ITEM),
    case("ITEM", ("MAP<STRING NOT NULL, INT NOT NULL> NOT NULL", [["a", 1]]), c("a"), sql=_ITEM),
    case("ITEM", ("MAP<INT, INT>", [[1, 2]]), n(1), sql=_ITEM),
    case("ITEM", ("MAP<BIGINT, INT>", [[1, 2]]), n(1), sql=_ITEM),
    case("ITEM", ("MAP<DOUBLE, INT>", [[1.5, 2]]), ("DECIMAL(2, 1) NOT NULL", "1.5"), sql=_ITEM),
    case("ITEM", ("MAP<INT, INT>", [[1, 2]]), c("1"), sql=_ITEM),
    case("ITEM", a(1), c("a"), sql=_ITEM),
    # size
    *(case("CARDINALITY", each) for each in [*_ARRAYS, _MAP, _NO_MAP]),
    case("CARDINALITY", ("ARRAY<INT> NOT NULL", [1])),
    case("CARDINALITY", s("a")),
    *(case("ELEMENT", each) for each in [a(7), a(None), _NO_ARRAY]),
    case("ELEMENT", a(1, 2)),
    case("ELEMENT", ("ARRAY<INT NOT NULL> NOT NULL", [1])),
    # arrays
    *(
        case(name, each)
        for name in ("ARRAY_DISTINCT", "ARRAY_REVERSE", "ARRAY_MAX", "ARRAY_MIN", "ARRAY_SORT")
        for each in [*_ARRAYS, t("b", "a", None, "b"), ("ARRAY<INT NOT NULL> NOT NULL", [2, 1, 2])]
    ),
    *(
        case(name, ("ARRAY<DOUBLE>", ["1.5", "NaN", "-0.0", "0.0"]))
        for name in ("ARRAY_DISTINCT", "ARRAY_MAX", "ARRAY_MIN", "ARRAY_SORT")
    ),
    *(case(name, ("ARRAY<BOOLEAN>", [True, False])) for name in ("ARRAY_MAX", "ARRAY_SORT")),
    *(case(name, ("ARRAY<ARRAY<INT>>", [[2], [1]])) for name in ("ARRAY_MAX", "ARRAY_SORT")),
    case("ARRAY_DISTINCT", ("ARRAY<ROW<a INT>>", [[1], [1], [2]])),
    case("ARRAY_SORT", ("ARRAY<DECIMAL(4, 2)>", ["2.50", "1.00"])),
    case("ARRAY_SORT", ("ARRAY<DATE>", ["2024-01-02", "2023-01-01"])),
    *(
        case(name, a(1, None, 2, 1), needle)
        for name in (
            "ARRAY_CONTAINS",
            "ARRAY_POSITION",
            "ARRAY_REMOVE",
            "ARRAY_APPEND",
            "ARRAY_PREPEND",
        )
        for needle in (
            n(1),
            n(9),
            i(2),
            i(None),
            ("BIGINT NOT NULL", 1),
            ("NULL", None),
            c("a"),
            ("TINYINT NOT NULL", 1),
        )
    ),
    *(
        case(name, _NO_ARRAY, n(1))
        for name in ("ARRAY_CONTAINS", "ARRAY_POSITION", "ARRAY_REMOVE", "ARRAY_APPEND")
    ),
    *(
        case(name, array, needle)
        for name in (
            "ARRAY_CONTAINS",
            "ARRAY_POSITION",
            "ARRAY_REMOVE",
            "ARRAY_APPEND",
            "ARRAY_PREPEND",
        )
        for array, needle in [
            (t("a", "b"), c("b")),
            (("ARRAY<INT NOT NULL> NOT NULL", [1, 2]), n(2)),
            (("ARRAY<INT NOT NULL> NOT NULL", [1, 2]), i(None)),
            (("ARRAY<BIGINT>", [1, 2]), n(2)),
            (("ARRAY<ROW<a INT>>", [[1]]), ("ROW<a INT>", [1])),
            (("ARRAY<CHAR(2)>", ["ab"]), c("abc")),
            (("ARRAY<DOUBLE>", [1.5]), n(1)),
        ]
    ),
    *(
        case("ARRAY_SLICE", a(1, 2, None, 4), i(start), i(end))
        for start in (-9, -2, 0, 1, 3, 9, None)
        for end in (-9, -2, 0, 2, 9, None)
    ),
    *(case("ARRAY_SLICE", a(1, 2, 3), i(start)) for start in (-9, -2, 0, 1, 3, 9, None)),
    case("ARRAY_SLICE", _NO_ARRAY, n(1)),
    case("ARRAY_SLICE", ("ARRAY<INT NOT NULL> NOT NULL", [1, 2]), n(1), n(1)),
    *(case("ARRAY_SORT", a(2, None, 3, 1), each) for each in _BOOLEANS),
    *(case("ARRAY_SORT", a(2, None, 3, 1), up, first) for up in _BOOLEANS for first in _BOOLEANS),
    *(
        case(name, one, other)
        for name in ("ARRAY_UNION", "ARRAY_CONCAT", "ARRAY_EXCEPT", "ARRAY_INTERSECT")
        for one, other in [
            (a(1, 2, 2, None), a(2, 3, None)),
            (a(1), _NO_ARRAY),
            (a(None, None), a(None)),
            (t("a"), t("b", "a")),
            (a(1), ("ARRAY<BIGINT>", [2, 1])),
            (("ARRAY<INT NOT NULL> NOT NULL", [1]), ("ARRAY<INT NOT NULL> NOT NULL", [2])),
            (("ARRAY<INT NOT NULL> NOT NULL", [1]), a(2)),
            (a(1), t("a")),
            (("ARRAY<ROW<a INT>>", [[1]]), ("ARRAY<ROW<a INT>>", [[1]])),
            (("ARRAY<DOUBLE>", ["0.0", "NaN"]), ("ARRAY<DOUBLE>", ["-0.0", "NaN"])),
        ]
    ),
    case("ARRAY_CONCAT", a(1)),
    case("ARRAY_CONCAT", a(1), a(2), a(3, None)),
    *(
        case("ARRAY_JOIN", t("a", None, "b"), *rest)
        for rest in [
            (c(","),),
            (s(None),),
            (c(""),),
            (c(","), c("-")),
            (c(","), s(None)),
            (c(","), c("")),
        ]
    ),
    case("ARRAY_JOIN", ("ARRAY<STRING>", None), c(",")),
    case("ARRAY_JOIN", t(None), c(",")),
    case("ARRAY_JOIN", ("ARRAY<STRING NOT NULL> NOT NULL", ["a"]), c(",")),
    case("ARRAY_JOIN", a(1, 2), c(",")),
    # maps
    *(
        case(name, each)
        for name in ("MAP_KEYS", "MAP_VALUES", "MAP_ENTRIES")
        for each in [
            _NO_MAP,
            ("MAP<STRING, INT>", [["a", 1]]),
            _MAP,
            ("MAP<STRING NOT NULL, INT NOT NULL> NOT NULL", [["a", 1]]),
        ]
    ),
    case("MAP_FROM_ARRAYS", t("a", "b"), a(1, 2)),
    case("MAP_FROM_ARRAYS", t("a", "b"), a(1)),
    case("MAP_FROM_ARRAYS", t("a"), _NO_ARRAY),
    case("MAP_FROM_ARRAYS", t("a"), a(None)),
    case(
        "MAP_FROM_ARRAYS", ("ARRAY<STRING NOT NULL> NOT NULL", ["a"]), ("ARRAY<INT> NOT NULL", [1])
    ),
    case("MAP_UNION", ("MAP<STRING, INT>", [["a", 1], ["b", 2]]), ("MAP<STRING, INT>", [["b", 3]])),
    case("MAP_UNION", ("MAP<STRING, INT>", [["a", 1]]), _NO_MAP),
    case("MAP_UNION", ("MAP<STRING, INT>", [["a", 1]])),
    case("MAP_UNION", ("MAP<STRING, INT>", [["a", 1]]), ("MAP<STRING, BIGINT>", [["b", 3]])),
    case("MAP_UNION", ("MAP<STRING, INT>", [["a", 1]]), ("MAP<INT, INT>", [[1, 3]])),
    case("MAP_UNION", ("MAP<STRING, INT> NOT NULL", [["a", 1]]), ("MAP<STRING, INT>", [["c", 1]])),
    # fields
    case("$FIELD", _ROW, n(0), sql="({0}).a"),
    case("$FIELD", _ROW, n(1), sql="({0}).b"),
    case("$FIELD", ("ROW<a INT, b STRING>", None), n(1), sql="({0}).b"),
    case("$FIELD", ("ROW<a INT NOT NULL, b STRING> NOT NULL", [1, "x"]), n(0), sql="({0}).a"),
]
