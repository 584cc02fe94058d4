"""Codes and characters, URLs, addresses, formats, types by name."""

from __future__ import annotations

from oracle.scalar_cases import b, c, case, i, n, s

_URL = "http://user:pw@example.com:8080/a/b.html?k1=v1&k2=v2&k1=v3&e=#ref"
_PARTS = ["HOST", "PATH", "QUERY", "REF", "PROTOCOL", "FILE", "AUTHORITY", "USERINFO", "host", "X"]

CASES = [
    *(case("CHR", ("BIGINT", code)) for code in (-1, 0, 65, 255, 256, 321, 228, None)),
    case("CHR", n(97)),
    *(
        case("ENCODE", s(text), s(charset))
        for text, charset in [
            ("aä", "UTF-8"),
            ("aä", "ISO-8859-1"),
            ("aä語", "US-ASCII"),
            ("aä", "UTF-16"),
            ("aä", "UTF-16BE"),
            ("aä", "UTF-16LE"),
            ("aä", "utf8"),
            (None, "UTF-8"),
            ("a", None),
            ("a", "nope"),
            ("語", "GBK"),
        ]
    ),
    case("ENCODE", c("ab"), c("UTF-8")),
    *(
        case("DECODE", b(data), s(charset))
        for data, charset in [
            ("61c3a4", "UTF-8"),
            ("61e4", "ISO-8859-1"),
            ("61ff", "UTF-8"),
            ("feff0061", "UTF-16"),
            ("0061", "UTF-16BE"),
            ("61e4", "US-ASCII"),
            (None, "UTF-8"),
            ("61", None),
            ("61", "nope"),
            ("", "UTF-8"),
        ]
    ),
    case("DECODE", ("BINARY(2) NOT NULL", "6162"), c("UTF-8")),
    # addresses
    *(case("PARSE_URL", s(_URL), s(part)) for part in _PARTS),
    *(case("PARSE_URL", s(_URL), s("QUERY"), s(key)) for key in ("k1", "k2", "e", "zz", "", None)),
    case("PARSE_URL", s(_URL), s("PATH"), s("k1")),
    *(
        case("PARSE_URL", s(url), s(part))
        for url in [
            "https://example.com",
            "example.com/x",
            "ftp://h/p;type=a?q",
            "http://h:99?x=1",
            "mailto:a@b.c",
            "http://[::1]:80/x",
            "file:///etc/hosts",
            "http:/one",
            "HTTP://H/P#",
            "http://h/p?",
            "http://h/a b?c d",
            "nope://h/x",
            "",
            "http://h:99999999999/x",
        ]
        for part in ["HOST", "PATH", "QUERY", "REF", "AUTHORITY", "FILE", "PROTOCOL"]
    ),
    case("PARSE_URL", s(None), s("HOST")),
    case("PARSE_URL", c("http://h"), c("HOST")),
    *(
        case("URL_ENCODE", s(text))
        for text in ["http://a b/?x=1&y=ä", "", "-_.*~ +", "日本😀", "a/b%", None]
    ),
    *(
        case("URL_DECODE", s(text))
        for text in [
            "http%3A%2F%2Fa+b",
            "",
            "%E6%97%A5",
            "%",
            "%4",
            "%zz",
            "a%20b",
            "%FF",
            "ä",
            None,
        ]
    ),
    case("URL_ENCODE", c("a b")),
    case("URL_DECODE", c("a+b")),
    *(
        case("INET_ATON", s(text))
        for text in [
            "1.2.3.4",
            "255.255.255.255",
            "1.2",
            "1.2.3",
            "7",
            "256.1.1.1",
            "1..2",
            "a.b.c.d",
            "",
            "1.2.3.4.5",
            " 1.2.3.4",
            "0.0.0.0",
            "1.2.3.",
            None,
        ]
    ),
    *(
        case("INET_NTOA", ("BIGINT", code))
        for code in (0, 16909060, 4294967295, 4294967296, -1, None)
    ),
    case("INET_NTOA", n(16909060)),
    case("INET_ATON", c("1.2.3.4")),
    # formats
    *(
        case("PRINTF", s(shape), s("text"), n(42))
        for shape in [
            "%s=%d",
            "%2$d %1$s",
            "%10s|%-6d|",
            "%S %05d",
            "%s %x %%%n",
            "%d",
            "%s",
            "no",
            "%s %,d",
            "%s %+d",
            "%s %o %X",
            "%.2s %d",
            "%c %d",
            "%s %s %s",
            "%b %h",
            "%q",
            "% s",
            "%s %e",
            "%s % d",
            "%s %(d",
            "%s %#x",
            "%-s %d",
            "%5.3s|%d",
            "%s %08x",
        ]
    ),
    *(
        case("PRINTF", s(shape), ("DOUBLE", value))
        for shape in [
            "%.2f",
            "%f",
            "%e",
            "%g",
            "%s",
            "%10.3f|",
            "%,.2f",
            "%d",
            "%a",
            "%E",
            "%+.1f",
            "%.0f",
            "%08.2f",
            "%G",
        ]
        for value in (3.14159, -1234567.895, 0.0, 1e10, 2.5)
    ),
    *(
        case("PRINTF", s("%s %d"), s("x"), ("BIGINT", value))
        for value in (9223372036854775807, -5, None)
    ),
    case("PRINTF", s("%x %o"), n(-1), ("BIGINT NOT NULL", -1)),
    case("PRINTF", s("%x"), ("TINYINT NOT NULL", -1)),
    case("PRINTF", s("%s %b"), ("BOOLEAN NOT NULL", True), ("BOOLEAN NOT NULL", False)),
    case("PRINTF", s("%s"), ("DECIMAL(5, 2) NOT NULL", "1.50")),
    case("PRINTF", s("%.1f"), ("DECIMAL(5, 2) NOT NULL", "1.55")),
    case("PRINTF", s("%s"), ("FLOAT NOT NULL", "1.1")),
    case("PRINTF", s("%s"), ("DATE NOT NULL", "2024-01-02")),
    case("PRINTF", s("%s"), ("TIMESTAMP(3) NOT NULL", "2024-01-02 03:04:05.006")),
    case("PRINTF", s("%s"), ("ARRAY<INT> NOT NULL", [1, 2])),
    case("PRINTF", s("%c%c"), n(65), s("y")),
    case("PRINTF", s(None), n(1)),
    case("PRINTF", c("plain")),
    case("PRINTF", s("plain %%")),
    case("PRINTF", s("%s"), ("NULL", None)),
    case("PRINTF", s("%5d|%b|%c|%x|%.1f"), i(None), i(None), i(None), i(None), i(None)),
    # types
    *(
        case("TYPEOF", (type_, value))
        for type_, value in [
            ("INT", 1),
            ("INT NOT NULL", 1),
            ("STRING", "a"),
            ("VARCHAR(5)", "a"),
            ("CHAR(2) NOT NULL", "ab"),
            ("DECIMAL(5, 2)", "1.5"),
            ("BYTES", "61"),
            ("ARRAY<INT>", [1]),
            ("ARRAY<INT NOT NULL>", [1]),
            ("MAP<STRING, INT>", [["a", 1]]),
            ("ROW<a INT, b STRING NOT NULL>", [1, "x"]),
            ("TIMESTAMP(3)", "2024-01-02 03:04:05"),
            ("TIMESTAMP_LTZ(3)", "2024-01-02 03:04:05"),
            ("DATE", "2024-01-02"),
            ("TIME", "03:04:05"),
            ("DOUBLE", "1.5"),
            ("BOOLEAN", True),
            ("BINARY(2)", "6162"),
            ("ARRAY<ROW<`a b` INT, c ARRAY<STRING>>>", None),
            ("NULL", None),
            ("VARBINARY(3)", "61"),
            ("TINYINT", 1),
            ("FLOAT", "1"),
        ]
    ),
    case("TYPEOF", ("INT", 1), ("BOOLEAN NOT NULL", True)),
    case("TYPEOF", s("x"), ("BOOLEAN NOT NULL", True)),
    case("TYPEOF", ("ROW<a INT, b STRING NOT NULL>", [1, "x"]), ("BOOLEAN NOT NULL", True)),
    case("TYPEOF", ("ROW<a INT, b STRING NOT NULL>", [1, "x"]), ("BOOLEAN NOT NULL", False)),
]
