"""Texts, regular expressions and hashes of expressions.  Next: table/expressing/times.py"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from headrace.sql.ast import FunctionCall, LikePredicate, SqlKeyword
from headrace.table.expressing.base import (
    ExpressionBase,
    UnaryProperty,
    expression,
    operand,
    written,
)

if TYPE_CHECKING:
    from headrace.table.expression import Expression


def _given(*values: Any) -> tuple[Any, ...]:
    """The arguments up to the first that was left out."""
    given: list[Any] = []
    for value in values:
        if value is None:
            break
        given.append(value)
    return tuple(given)


class TextExpressions(ExpressionBase):
    """What texts can do."""

    char_length = UnaryProperty("CHAR_LENGTH", "charLength")
    upper_case = UnaryProperty("UPPER")
    lower_case = UnaryProperty("LOWER")
    init_cap = UnaryProperty("INITCAP", "initCap")
    from_base64 = UnaryProperty("FROM_BASE64", "fromBase64")
    to_base64 = UnaryProperty("TO_BASE64", "toBase64")
    ascii = UnaryProperty("ASCII")
    chr = UnaryProperty("CHR")
    reverse = UnaryProperty("REVERSE")
    md5 = UnaryProperty("MD5")
    sha1 = UnaryProperty("SHA1")
    sha224 = UnaryProperty("SHA224")
    sha256 = UnaryProperty("SHA256")
    sha384 = UnaryProperty("SHA384")
    sha512 = UnaryProperty("SHA512")
    is_valid_utf8 = UnaryProperty("IS_VALID_UTF8", "IS_VALID_UTF8")
    make_valid_utf8 = UnaryProperty("MAKE_VALID_UTF8", "MAKE_VALID_UTF8")

    def sha2(self, hash_length: Any) -> Expression[Any]:
        """The SHA-2 hash of so many bits, in hexadecimal digits."""
        return self._call("SHA2", "sha2", hash_length)

    def concat(self, other: Any) -> Expression[Any]:
        """This text and another behind it."""
        return self._call("CONCAT", "concat", other)

    def starts_with(self, start_expr: Any) -> Expression[Any]:
        """Whether it begins with another."""
        return self._call("STARTSWITH", "STARTSWITH", start_expr)

    def ends_with(self, end_expr: Any) -> Expression[Any]:
        """Whether it ends with another."""
        return self._call("ENDSWITH", "ENDSWITH", end_expr)

    def substring(self, begin_index: Any, length: Any = None) -> Expression[Any]:
        """A part from a place on, counted from 1."""
        return self._call("SUBSTRING", "substring", begin_index, *_given(length))

    def substr(self, begin_index: Any, length: Any = None) -> Expression[Any]:
        """A part from a place on, counted from 1."""
        return self._call("SUBSTR", "substr", begin_index, *_given(length))

    def trim_leading(self, character: Any = None) -> Expression[Any]:
        """Without blanks, or another character, at its beginning."""
        return self._trim("LEADING", character)

    def trim_trailing(self, character: Any = None) -> Expression[Any]:
        """Without blanks, or another character, at its end."""
        return self._trim("TRAILING", character)

    def trim(self, character: Any = None) -> Expression[Any]:
        """Without blanks, or another character, at both ends."""
        return self._trim("BOTH", character)

    def _trim(
        self, side: Literal["LEADING", "TRAILING", "BOTH"], character: Any
    ) -> Expression[Any]:
        what = operand(" " if character is None else character)
        node = FunctionCall(("TRIM",), (SqlKeyword(side), what._value, self._value))
        sides = {"LEADING": "true, false", "TRAILING": "false, true", "BOTH": "true, true"}[side]
        return expression(node, f"trim({sides}, {what}, {self})")

    def replace(self, search: Any = None, replacement: Any = None) -> Expression[Any]:
        """With every occurrence of a text replaced by another."""
        return self._call("REPLACE", "replace", search, replacement)

    def translate(self, from_str: Any, to_str: Any) -> Expression[Any]:
        """With every character of one text replaced by that of another at the same place."""
        return self._call("TRANSLATE", "TRANSLATE3", from_str, to_str)

    def like(self, pattern: Any = None, escape: Any = None) -> Expression[Any]:
        """Whether it matches a pattern of SQL: % for any text, _ for any character."""
        how, marks = operand(pattern), [operand(each) for each in _given(escape)]
        node = LikePredicate(self._value, how._value, marks[0]._value if marks else None)
        return expression(node, written("LIKE", self, how, *marks))

    def similar(self, pattern: Any = None) -> Expression[Any]:
        """Whether it matches a regular expression of SQL."""
        how = operand(pattern)
        node = LikePredicate(self._value, how._value, operator="SIMILAR TO")
        return expression(node, written("similar", self, how))

    def position(self, haystack: Any = None) -> Expression[Any]:
        """Where this stands in another text, from 1; 0 if it does not."""
        return self._call("POSITION", "position", haystack)

    def lpad(self, length: Any, pad: Any) -> Expression[Any]:
        """Filled up on the left."""
        return self._call("LPAD", "lpad", length, pad)

    def rpad(self, length: Any, pad: Any) -> Expression[Any]:
        """Filled up on the right."""
        return self._call("RPAD", "rpad", length, pad)

    def overlay(self, new_string: Any, starting: Any, length: Any = None) -> Expression[Any]:
        """With a part replaced by another text."""
        return self._call("OVERLAY", "overlay", new_string, starting, *_given(length))

    def regexp(self, regex: Any) -> Expression[Any]:
        """Whether a regular expression is found in it."""
        return self._call("REGEXP", "REGEXP", regex)

    def regexp_count(self, regex: Any) -> Expression[Any]:
        """How often a regular expression is found in it."""
        return self._call("REGEXP_COUNT", "REGEXP_COUNT", regex)

    def regexp_replace(self, regex: Any, replacement: Any) -> Expression[Any]:
        """With all that a regular expression finds replaced."""
        return self._call("REGEXP_REPLACE", "REGEXP_REPLACE", regex, replacement)

    def regexp_extract(self, regex: Any, extract_index: Any = None) -> Expression[Any]:
        """What a group of a regular expression finds first; group 0 is all of it."""
        return self._call("REGEXP_EXTRACT", "REGEXP_EXTRACT", regex, *_given(extract_index))

    def regexp_extract_all(self, regex: Any, extract_index: Any = None) -> Expression[Any]:
        """All that a group of a regular expression finds, as an array."""
        name = "REGEXP_EXTRACT_ALL"
        return self._call(name, name, regex, *_given(extract_index))

    def regexp_instr(self, regex: Any) -> Expression[Any]:
        """Where a regular expression is found first, from 1."""
        return self._call("REGEXP_INSTR", "REGEXP_INSTR", regex)

    def regexp_substr(self, regex: Any) -> Expression[Any]:
        """What a regular expression finds first."""
        return self._call("REGEXP_SUBSTR", "REGEXP_SUBSTR", regex)

    def decode(self, charset: Any) -> Expression[Any]:
        """Bytes as text."""
        return self._call("DECODE", "decode", charset)

    def encode(self, charset: Any) -> Expression[Any]:
        """Text as bytes."""
        return self._call("ENCODE", "encode", charset)

    def left(self, length: Any) -> Expression[Any]:
        """The first characters."""
        return self._call("LEFT", "left", length)

    def right(self, length: Any) -> Expression[Any]:
        """The last characters."""
        return self._call("RIGHT", "right", length)

    def instr(self, s: Any) -> Expression[Any]:
        """Where another text stands in this, from 1; 0 if it does not."""
        return self._call("INSTR", "instr", s)

    def locate(self, s: Any, pos: Any = None) -> Expression[Any]:
        """Where this stands in another text, from a place on."""
        return self._call("LOCATE", "locate", s, *_given(pos))

    def url_decode(self) -> Expression[Any]:
        """A text of a URL as plain text."""
        return self._call("URL_DECODE", "URL_DECODE")

    def url_encode(self) -> Expression[Any]:
        """Plain text as a text of a URL."""
        return self._call("URL_ENCODE", "URL_ENCODE")

    def inet_aton(self) -> Expression[Any]:
        """An IPv4 address as a number."""
        return self._call("INET_ATON", "INET_ATON")

    def inet_ntoa(self) -> Expression[Any]:
        """A number as an IPv4 address."""
        return self._call("INET_NTOA", "INET_NTOA")

    def parse_url(self, part_to_extract: Any, key: Any = None) -> Expression[Any]:
        """A part of a URL."""
        return self._call("PARSE_URL", "parseUrl", part_to_extract, *_given(key))

    def printf(self, *obj: Any) -> Expression[Any]:
        """Values put into this format."""
        return self._call("PRINTF", "PRINTF", *obj)

    def ltrim(self, trim_str: Any = None) -> Expression[Any]:
        """Without blanks, or characters of a text, at its beginning."""
        return self._call("LTRIM", "ltrim", *_given(trim_str))

    def rtrim(self, trim_str: Any = None) -> Expression[Any]:
        """Without blanks, or characters of a text, at its end."""
        return self._call("RTRIM", "rtrim", *_given(trim_str))

    def btrim(self, trim_str: Any = None) -> Expression[Any]:
        """Without blanks, or characters of a text, at both ends."""
        return self._call("BTRIM", "BTRIM", *_given(trim_str))

    def repeat(self, n: Any) -> Expression[Any]:
        """So often, one behind the other."""
        return self._call("REPEAT", "repeat", n)

    def split_index(self, separator: Any, index: Any) -> Expression[Any]:
        """One of the parts between separators, counted from 0."""
        return self._call("SPLIT_INDEX", "splitIndex", separator, index)

    def split(self, delimiter: Any) -> Expression[Any]:
        """The parts between separators, as an array."""
        return self._call("SPLIT", "SPLIT", delimiter)

    def str_to_map(
        self, list_delimiter: Any = None, key_value_delimiter: Any = None
    ) -> Expression[Any]:
        """A text such as ``a=1,b=2`` as a map."""
        marks = _given(list_delimiter, key_value_delimiter)
        return self._call("STR_TO_MAP", "strToMap", *(marks if len(marks) == 2 else ()))

    def elt(self, expr: Any, *exprs: Any) -> Expression[Any]:
        """One of several texts: this is its number, from 1."""
        return self._call("ELT", "ELT", expr, *exprs)
