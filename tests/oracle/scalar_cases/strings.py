"""Strings: case, parts, places, padding, splitting."""

from __future__ import annotations

from oracle.scalar_cases import b, c, case, i, n, s

_TEXTS = [
    "",
    "abc",
    "Hello World",
    "  two  words ",
    "ÄÖü ß",
    "日本語テキスト",
    "a😀b",
    "a1b2_c-d.E",
]
_ONE = ["UPPER", "LOWER", "INITCAP", "REVERSE", "CHAR_LENGTH", "CHARACTER_LENGTH", "ASCII"]
_ONE += ["LTRIM", "RTRIM", "BTRIM"]
_TRIM = {"BOTH": "TRIM(BOTH {1} FROM {2})", "LEADING": "TRIM(LEADING {1} FROM {2})"}
_TRIM["TRAILING"] = "TRIM(TRAILING {1} FROM {2})"
_OVER = "OVERLAY({0} PLACING {1} FROM {2})"
_OVER_FOR = "OVERLAY({0} PLACING {1} FROM {2} FOR {3})"

CASES = [
    *(case(name, s(text)) for name in _ONE for text in _TEXTS),
    *(case(name, arg) for name in _ONE for arg in (s(None), c("aB"), ("VARCHAR(9)", "q w"))),
    case("UPPER", ("VARCHAR(9) NOT NULL", "q w")),
    case("UPPER", ("NULL", None)),
    case("UPPER", n(1)),
    case("UPPER", b("61")),
    case("LOWER", s("İI")),
    case("UPPER", s("ŉǰΐ ﬁ")),
    case("CHAR_LENGTH", n(12)),
    # concatenation
    case("||", s("a"), s("b"), sql="{0} || {1}"),
    case("||", s("a"), s(None), sql="{0} || {1}"),
    case("||", c("ab"), c("cde"), sql="{0} || {1}"),
    case("||", ("VARCHAR(3)", "ab"), c("cde"), sql="{0} || {1}"),
    case("||", ("VARCHAR(3)", "ab"), ("VARCHAR(4) NOT NULL", "x"), sql="{0} || {1}"),
    case("||", ("BINARY(1)", "61"), ("BYTES", "62"), sql="{0} || {1}"),
    case("||", c("a"), n(1), sql="{0} || {1}"),
    case("||", n(1), c("a"), sql="{0} || {1}"),
    case("||", n(1), n(2), sql="{0} || {1}"),
    case("CONCAT", s("a")),
    case("CONCAT", s("a"), s("b"), s("")),
    case("CONCAT", s("a"), s(None), s("b")),
    case("CONCAT", c("a"), c("b")),
    case("CONCAT", c("a"), n(1)),
    case("CONCAT", c("a"), ("DATE NOT NULL", "2024-01-02")),
    case("CONCAT", b("61"), b("62")),
    case("CONCAT_WS", s("~"), s("a"), s("b"), s("c")),
    case("CONCAT_WS", s("~"), s("a"), s(None), s("")),
    case("CONCAT_WS", s("~"), s(None), s(None)),
    case("CONCAT_WS", s(None), s("a"), s("b")),
    case("CONCAT_WS", s("~"), s("a")),
    case("CONCAT_WS", s("~")),
    case("CONCAT_WS", c("~"), c("a"), c("b")),
    case("CONCAT_WS", c("~"), n(1), c("b")),
    # trimming
    *(
        case("TRIM", c(side), s(cut), s(text), sql=sql)
        for side, sql in _TRIM.items()
        for cut, text in [
            (" ", "  a b  "),
            ("x", "xxaxbxx"),
            ("ab", "abcab"),
            ("ab", "bacba"),
            ("", "abc"),
            ("日", "日a日"),
            ("a", ""),
            ("aa", "aaa"),
            (None, "abc"),
            ("x", None),
        ]
    ),
    case("TRIM", c("BOTH"), c(" "), c("  ab "), sql="TRIM({2})"),
    case("TRIM", c("BOTH"), c("x"), ("VARCHAR(7)", "xax"), sql="TRIM({1} FROM {2})"),
    *(
        case(name, s(text), s(cut))
        for name in ("LTRIM", "RTRIM", "BTRIM")
        for text, cut in [
            ("xyzabcxyz", "xyz"),
            ("  a ", " "),
            ("aXa", "a"),
            ("", "a"),
            ("abc", ""),
            (None, "a"),
            ("a", None),
            ("zzz", "z"),
            ("ßaß", "ß"),
        ]
    ),
    case("LTRIM", c(" ab"), c(" ")),
    case("BTRIM", c(" ab"), c(" ")),
    # parts
    *(
        case("SUBSTRING", s("abcdef"), i(start), i(size), sql="SUBSTRING({0} FROM {1} FOR {2})")
        for start in (-7, -3, 0, 1, 3, 6, 7, None)
        for size in (-1, 0, 2, 9, None)
    ),
    *(case("SUBSTRING", s("a😀cdef"), i(start)) for start in (-9, -2, 0, 2, 3, 6, 7, None)),
    case("SUBSTRING", s(None), i(1)),
    case("SUBSTRING", s(""), i(1), i(2)),
    case("SUBSTRING", c("hello"), n(2), n(3)),
    case("SUBSTRING", ("VARCHAR(9)", "hello"), n(2)),
    case("SUBSTRING", c("hello"), ("BIGINT NOT NULL", 2)),
    case("SUBSTRING", c("hello"), ("TINYINT NOT NULL", 2), ("SMALLINT NOT NULL", 2)),
    case("SUBSTRING", c("hello"), c("2")),
    case("SUBSTR", s("abcdef"), i(2), i(3)),
    case("SUBSTR", s("abcdef"), i(-2)),
    case("SUBSTR", c("abcdef"), n(2)),
    *(
        case(name, s(text), i(size))
        for name in ("LEFT", "RIGHT")
        for text, size in [
            ("abcdef", 3),
            ("abc", 9),
            ("abc", 0),
            ("abc", -1),
            ("a😀c", 2),
            (None, 1),
            ("abc", None),
            ("", 1),
        ]
    ),
    case("LEFT", c("abc"), n(2)),
    case("RIGHT", ("VARCHAR(7)", "abc"), n(2)),
    # places
    *(
        case("POSITION", s(seek), s(text), sql="POSITION({0} IN {1})")
        for seek, text in [
            ("b", "abcb"),
            ("z", "abc"),
            ("", "abc"),
            ("", ""),
            ("a", ""),
            (None, "a"),
            ("a", None),
            ("語", "日本語"),
            ("b", "😀b"),
        ]
    ),
    case("POSITION", c("b"), c("ab"), sql="POSITION({0} IN {1})"),
    *(
        case("LOCATE", s(seek), s(text), i(start))
        for seek, text in [("b", "abcb"), ("", "abc"), ("z", "abc")]
        for start in (-1, 0, 1, 2, 3, 4, 5, 9, None)
    ),
    case("LOCATE", s("b"), s("abcb")),
    case("LOCATE", c("b"), c("abcb")),
    *(
        case("INSTR", s(text), s(seek))
        for text, seek in [
            ("abcb", "b"),
            ("abc", "z"),
            ("abc", ""),
            ("", "a"),
            (None, "a"),
            ("a", None),
        ]
    ),
    *(
        case("INSTR", s("abcabcab"), s(seek), n(start), n(nth))
        for seek in ("b", "ab")
        for start in (1, 2, 3, 0, -1, -2, -5, 99, -99)
        for nth in (1, 2)
    ),
    case("INSTR", s("abc"), s("b"), n(1), n(0)),
    case("INSTR", s("aaa"), s("aa"), n(1), n(2)),
    case("INSTR", s("abcb"), s("b"), n(3)),
    # replacing
    *(
        case("OVERLAY", s("abcdef"), s(new), i(start), i(size), sql=_OVER_FOR)
        for new in ("XY", "")
        for start in (-1, 0, 1, 3, 6, 7)
        for size in (-1, 0, 1, 3, 99)
    ),
    case("OVERLAY", s("abcdef"), s("XY"), i(2), sql=_OVER),
    case("OVERLAY", s("abcdef"), s("XYZ"), i(5), sql=_OVER),
    case("OVERLAY", s("abcdef"), s("XY"), i(5), sql=_OVER),
    case("OVERLAY", s("abcdef"), s("X"), i(6), sql=_OVER),
    case("OVERLAY", s(None), s("X"), i(6), sql=_OVER),
    case("OVERLAY", s("abc"), s("X"), i(None), sql=_OVER),
    case("OVERLAY", c("abc"), c("XY"), n(1), sql=_OVER),
    case("OVERLAY", ("VARCHAR(5)", "abc"), ("VARCHAR(3)", "XY"), n(1), n(1), sql=_OVER_FOR),
    case("REPLACE", s("banana"), s("an"), s("X")),
    case("REPLACE", s("banana"), s(""), s("-")),
    case("REPLACE", s("banana"), s("an"), s("")),
    case("REPLACE", s(""), s("a"), s("b")),
    case("REPLACE", s(""), s(""), s("b")),
    case("REPLACE", s("abc"), s(None), s("b")),
    case("REPLACE", c("abc"), c("b"), c("xx")),
    case("TRANSLATE", s("banana"), s("an"), s("xy")),
    case("TRANSLATE", s("banana"), s("anb"), s("x")),
    case("TRANSLATE", s("banana"), s("aan"), s("xyz")),
    case("TRANSLATE", s("banana"), s(""), s("x")),
    case("TRANSLATE", s("banana"), s("a"), s("")),
    case("TRANSLATE", s("banana"), s("a"), s(None)),
    case("TRANSLATE", s("banana"), s(None), s("x")),
    case("TRANSLATE", s(None), s("a"), s("x")),
    case("TRANSLATE", s("a😀b"), s("😀b"), s("x🎉")),
    case("TRANSLATE", c("ab"), c("a"), c("x")),
    # padding and repeating
    *(
        case(name, s(text), i(size), s(pad))
        for name in ("LPAD", "RPAD")
        for text, size, pad in [
            ("ab", 5, "xy"),
            ("ab", 1, "x"),
            ("ab", 0, "x"),
            ("ab", -1, "x"),
            ("ab", 5, ""),
            ("ab", 2, ""),
            ("", 3, "xy"),
            (None, 3, "x"),
            ("ab", None, "x"),
            ("ab", 3, None),
            ("ab", 0, ""),
            ("日本", 4, "語"),
        ]
    ),
    case("LPAD", c("ab"), n(5), c("x")),
    *(
        case("REPEAT", s(text), i(times))
        for text in ("ab", "", None)
        for times in (3, 1, 0, -1, None)
    ),
    case("REPEAT", c("ab"), n(2)),
    # splitting
    *(
        case("SPLIT_INDEX", s(text), s(cut), i(index))
        for text, cut in [
            ("a,b,,c", ","),
            ("", ","),
            ("abc", ""),
            ("a  b", " "),
            ("a::b:c", "::"),
            (",a,", ","),
        ]
        for index in (-1, 0, 1, 2, 3, 9)
    ),
    case("SPLIT_INDEX", s("a,b"), n(44), n(1)),
    case("SPLIT_INDEX", s("a,b"), n(0), n(1)),
    case("SPLIT_INDEX", s("a,b"), n(256), n(1)),
    case("SPLIT_INDEX", s(""), n(44), n(0)),
    case("SPLIT_INDEX", s(None), s(","), n(1)),
    case("SPLIT_INDEX", s("a"), s(None), n(0)),
    case("SPLIT_INDEX", s("a"), s(","), i(None)),
    case("SPLIT_INDEX", c("a,b"), c(","), n(1)),
    *(
        case("SPLIT", s(text), s(cut))
        for text, cut in [
            ("a,b,,c", ","),
            ("", ","),
            ("abc", ""),
            ("", ""),
            ("a::b:c", "::"),
            (",a,", ","),
            (None, ","),
            ("a", None),
        ]
    ),
    case("SPLIT", c("a;b"), c(";")),
    *(
        case("STR_TO_MAP", s(text))
        for text in ["k1=v1,k2=v2", "k1=v1,k1=v2", "k", "", "=v", "k=", ",", "a=b=c", None]
    ),
    *(
        case("STR_TO_MAP", s(text), s(pairs), s(keys))
        for text, pairs, keys in [
            ("k1:v1;k2:v2", ";", ":"),
            ("k1$$v1|k2", "|", "$$"),
            ("a1b22c", r"\d+", "x"),
            ("k=v", None, "="),
            ("a.b", ".", "="),
            ("k1$v1;k2$v2", ";", r"\$"),
            ("ab=c", "", "="),
        ]
    ),
    case("STR_TO_MAP", c("a=b")),
    # choosing
    *(case("ELT", i(index), s("a"), s("b")) for index in (-1, 0, 1, 2, 3, None)),
    case("ELT", n(1), c("a"), c("bcd")),
    case("ELT", ("BIGINT NOT NULL", 2), c("a"), s(None)),
    case("ELT", n(2), b("61"), b("6262")),
    case("ELT", n(1), c("a"), b("61")),
    case("ELT", ("BIGINT", 2), s("a"), s("b")),
    *(
        case(name, s(text), s(part))
        for name in ("STARTSWITH", "ENDSWITH")
        for text, part in [
            ("abc", "ab"),
            ("abc", "bc"),
            ("abc", ""),
            ("", ""),
            ("", "a"),
            (None, "a"),
            ("a", None),
            ("日本", "日"),
        ]
    ),
    case("STARTSWITH", b("6162"), b("61")),
    case("ENDSWITH", b("6162"), b("62")),
    case("STARTSWITH", b("6162"), b("")),
    case("STARTSWITH", c("ab"), c("a")),
    case("STARTSWITH", c("ab"), b("61")),
]
