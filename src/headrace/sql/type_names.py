"""Names of types: ``ARRAY<ROW<a INT NOT NULL, ts TIMESTAMP(3)>>``.

In: a walk over tokens (stream.py).  Out: `TypeName` (ast.py), with names in their short form:
CHARACTER VARYING is VARCHAR, TIMESTAMP(3) WITH LOCAL TIME ZONE is TIMESTAMP_LTZ(3).
Next: literals.py
"""

from __future__ import annotations

from dataclasses import replace

from headrace.sql.ast import TypeField, TypeName
from headrace.sql.habits import type_advice
from headrace.sql.keywords import INTERVAL_UNITS
from headrace.sql.stream import TokenStream

_PLAIN = {
    "BOOLEAN": "BOOLEAN",
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT": "INT",
    "INTEGER": "INT",
    "BIGINT": "BIGINT",
    "FLOAT": "FLOAT",
    "DATE": "DATE",
    "STRING": "STRING",
    "BYTES": "BYTES",
    "VARIANT": "VARIANT",
    "BITMAP": "BITMAP",
    "NULL": "NULL",
}
_WITH_LENGTH = {"VARCHAR": "VARCHAR", "VARBINARY": "VARBINARY", "TIMESTAMP_LTZ": "TIMESTAMP_LTZ"}
_VARYING = {
    "CHAR": ("CHAR", "VARCHAR"),
    "CHARACTER": ("CHAR", "VARCHAR"),
    "BINARY": ("BINARY", "VARBINARY"),
}
_DECIMALS = frozenset({"DECIMAL", "DEC", "NUMERIC"})
_COLLECTIONS = frozenset({"ARRAY", "MULTISET"})


class TypeNameParser(TokenStream):
    """The part of the grammar that reads types."""

    def type_name(self) -> TypeName:
        """A type with its collections behind it (``INT ARRAY``) and its nullability."""
        first = self.index
        found = self._bare_type()
        nullable = self._nullable()
        while (kind := self.accept_one(_COLLECTIONS)) is not None:
            element = replace(found, nullable=nullable)
            found = TypeName(kind, arguments=(element,), position=self.since(first))
            nullable = self._nullable()
        return replace(found, nullable=nullable, position=self.since(first))

    def type_of_values(self) -> TypeName:
        """A type behind CAST or RETURNING: whether it may be NULL is up to the value."""
        first = self.index
        found = self._bare_type()
        while (kind := self.accept_one(_COLLECTIONS)) is not None:
            found = TypeName(kind, arguments=(found,), position=self.since(first))
        return replace(found, position=self.since(first))

    def _nullable(self) -> bool:
        if self.accept("NOT", "NULL"):
            return False
        self.accept("NULL")
        return True

    def _bare_type(self) -> TypeName:
        key = self.key
        if key in _PLAIN:
            self.index += 1
            return TypeName(_PLAIN[key])
        if key in _WITH_LENGTH:
            self.index += 1
            return TypeName(_WITH_LENGTH[key], self._length())
        if key in _VARYING:
            self.index += 1
            name = _VARYING[key][self.accept("VARYING")]
            return TypeName(name, self._length())
        if key in _DECIMALS:
            self.index += 1
            return TypeName("DECIMAL", self._precision_and_scale())
        read = _READERS.get(key)
        if read is not None:
            return read(self)
        return self._type_by_name()

    def _type_by_name(self) -> TypeName:
        advice = type_advice(self.key)
        if advice is not None and self.key_at(1) != ".":
            self.refuse(f"{self.token.value} is no type of Flink's SQL", advice)
        name = self.identifier("the name of a type")
        return TypeName(".".join(name.parts), identifier=name.parts)

    def _length(self) -> tuple[int, ...]:
        if not self.accept("("):
            return ()
        length = self.number("a length or precision")
        self.expect(")")
        return (length,)

    def _precision_and_scale(self) -> tuple[int, ...]:
        if not self.accept("("):
            return ()
        numbers = [self.number("a precision")]
        if self.accept(","):
            numbers.append(self.number("a scale"))
        self.expect(")")
        return tuple(numbers)

    def _double(self) -> TypeName:
        self.index += 1
        self.accept("PRECISION")
        return TypeName("DOUBLE")

    def _time(self) -> TypeName:
        first = self.index
        self.index += 1
        precision = self._length()
        if self.at("WITH"):
            self.refuse(
                "TIME has no time zone in Flink's SQL",
                "write TIME, or TIMESTAMP_LTZ for points in time",
                position=self.place_of(first),
            )
        self.accept("WITHOUT", "TIME", "ZONE")
        return TypeName("TIME", precision)

    def _timestamp(self) -> TypeName:
        self.index += 1
        precision = self._length()
        if self.accept("WITH"):
            name = "TIMESTAMP_LTZ" if self.accept("LOCAL") else "TIMESTAMP_TZ"
            self.expect("TIME", "ZONE")
            return TypeName(name, precision)
        self.accept("WITHOUT", "TIME", "ZONE")
        return TypeName("TIMESTAMP", precision)

    def _interval(self) -> TypeName:
        self.index += 1
        units, digits = self.interval_qualifier()
        return TypeName("INTERVAL", digits if any(digits) else (), units=units)

    def interval_qualifier(self) -> tuple[tuple[str, ...], tuple[int | None, int | None]]:
        """``DAY(2) TO SECOND(3)``: its units, and the digits of the first and of the fraction."""
        start = self._interval_unit(INTERVAL_UNITS)
        precision = fraction = None
        if self.accept("("):
            precision = self.number("a precision")
            if start == "SECOND" and self.accept(","):
                fraction = self.number("a precision")
            self.expect(")")
        ends = _ENDS.get(start, ())
        # FLOOR(INTERVAL '1' YEAR TO DAY) has a TO that is not the interval's
        if self.key != "TO" or self.key_at(1).removesuffix("S") not in ends:
            return (start,), (precision, fraction)
        self.index += 1
        end = self._interval_unit(ends)
        if end == "SECOND" and self.accept("("):
            fraction = self.number("a precision")
            self.expect(")")
        return (start, end), (precision, fraction)

    def _interval_unit(self, units: tuple[str, ...]) -> str:
        """A unit, in the singular or the plural."""
        if self.key.removesuffix("S") in units:
            return self.advance().key.removesuffix("S")
        return self.expect_one(units)

    def _collection(self) -> TypeName:
        kind = self.advance().key
        self.expect("<")
        element = self.type_name()
        self.expect(">")
        return TypeName(kind, arguments=(element,))

    def _map(self) -> TypeName:
        self.index += 1
        self.expect("<")
        key = self.type_name()
        self.expect(",")
        value = self.type_name()
        self.expect(">")
        return TypeName("MAP", arguments=(key, value))

    def _row(self) -> TypeName:
        self.index += 1
        if self.accept("<>"):
            return TypeName("ROW")
        closing = ")" if self.accept("(") else ">"
        if closing == ">":
            self.expect("<")
        fields = () if self.key == closing else self.comma_list(self._type_field)
        self.expect(closing)
        return TypeName("ROW", fields=fields)

    def _type_field(self) -> TypeField:
        first = self.index
        name = self.name("the name of a field")
        kind = self.type_name()
        comment = self.string() if self.at_string() else None
        return TypeField(name, kind, comment, position=self.since(first))

    def _structured(self) -> TypeName:
        self.index += 1
        self.expect("<")
        class_name = self.string("the name of a class in single quotes")
        fields = self.comma_list(self._type_field) if self.accept(",") else ()
        self.expect(">")
        return TypeName("STRUCTURED", fields=fields, strings=(class_name,))

    def _raw(self) -> TypeName:
        self.index += 1
        self.expect("(")
        class_name = self.string("the name of a class in single quotes")
        self.expect(",")
        serializer = self.string("a serializer in single quotes")
        self.expect(")")
        return TypeName("RAW", strings=(class_name, serializer))


_ENDS = {
    "YEAR": ("MONTH",),
    "DAY": ("HOUR", "MINUTE", "SECOND"),
    "HOUR": ("MINUTE", "SECOND"),
    "MINUTE": ("SECOND",),
}
_READERS = {
    "DOUBLE": TypeNameParser._double,
    "TIME": TypeNameParser._time,
    "TIMESTAMP": TypeNameParser._timestamp,
    "INTERVAL": TypeNameParser._interval,
    "ARRAY": TypeNameParser._collection,
    "MULTISET": TypeNameParser._collection,
    "MAP": TypeNameParser._map,
    "ROW": TypeNameParser._row,
    "STRUCTURED": TypeNameParser._structured,
    "RAW": TypeNameParser._raw,
}
