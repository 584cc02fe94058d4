"""Digests and encodings."""

from __future__ import annotations

from oracle.scalar_cases import b, c, case, i, n, s

_ONE = ["MD5", "SHA1", "SHA224", "SHA256", "SHA384", "SHA512", "TO_BASE64", "FROM_BASE64"]

CASES = [
    *(
        case(name, argument)
        for name in _ONE[:7]
        for argument in (s("test"), s(""), s("日本"), s(None), c("ab"), b("6162"))
    ),
    *(
        case("FROM_BASE64", s(text))
        for text in [
            "aGVsbG8gd29ybGQ=",
            "",
            "aGk",
            "aGk=",
            "a",
            "a*b=",
            "5pel",
            "YQ==YQ==",
            None,
            "aGVs bG8=",
            "/+8=",
            "_-8=",
        ]
    ),
    case("FROM_BASE64", c("YQ==")),
    case("FROM_BASE64", b("59513d3d")),
    *(case("SHA2", s("test"), i(bits)) for bits in (224, 256, 384, 512, 0, 1, None)),
    *(case("SHA2", s("test"), n(bits)) for bits in (224, 256, 384, 512, 0, 1)),
    case("SHA2", s(None), n(256)),
    case("SHA2", c("ab"), n(256)),
    case("SHA2", b("6162"), n(256)),
    case("MD5", n(1)),
    case("HASH_CODE", s("test")),
    case("HASH_CODE", s("")),
    case("HASH_CODE", s("日本語")),
    case("HASH_CODE", s("polygenelubricants")),
    case("HASH_CODE", s(None)),
    case("HASH_CODE", n(-5)),
    case("HASH_CODE", ("BIGINT NOT NULL", -5)),
    case("HASH_CODE", ("BIGINT NOT NULL", 12345678901)),
    case("HASH_CODE", ("BOOLEAN NOT NULL", True)),
    case("HASH_CODE", ("DOUBLE NOT NULL", "1.5")),
]
