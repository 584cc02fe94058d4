"""Types of the Table API that have no parts: texts, numbers, bytes, days and times.

In: ``DataTypes`` (common/data_types.py) and SQL.  Out: descriptions that compare by what they say
and read as SQL.  Next: common/nested_types.py
"""

from __future__ import annotations

import calendar
import datetime
import time
from copy import copy
from typing import TYPE_CHECKING, ClassVar, Self

from headrace.common.typeinfo import TypeInformation, Types
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from headrace.common.opaque import Record

MAX_LENGTH = 0x7FFFFFFF
_SECOND = 10**6


class DataType:
    """A type of the Table API and SQL: its name, its parameters, and whether it may be NULL.

    Args:
        nullable: whether values may be None.
    """

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable
        self._conversion_cls = ""

    @property
    def is_nullable(self) -> bool:
        """Whether values may be None. Ours."""
        return self._nullable

    def not_null(self) -> Self:
        """The same type without NULL."""
        return self._with(nullable=False)

    def nullable(self) -> Self:
        """The same type with NULL."""
        return self._with(nullable=True)

    def _with(self, *, nullable: bool) -> Self:
        if self._nullable is nullable:
            return self
        changed = copy(self)
        changed._nullable = nullable
        return changed

    @classmethod
    def type_name(cls) -> str:
        """The bare name of the type, such as ``BIGINT``."""
        return cls.__name__[:-4].upper()

    def bridged_to(self, conversion_cls: str) -> Self:
        """Names a class of the JVM, which headrace does not need: kept for PyFlink's programs."""
        self._conversion_cls = conversion_cls
        return self

    def need_conversion(self) -> bool:
        """Whether `to_sql_type` changes values."""
        return False

    def to_sql_type(self, obj: Record) -> Record:
        """A Python value as PyFlink hands it to Flink: days and times as numbers."""
        return obj

    def from_sql_type(self, obj: Record) -> Record:
        """The Python value that `to_sql_type` took."""
        return obj

    def to_type_info(self) -> TypeInformation:
        """The DataStream API's type for the same values. Ours."""
        msg = f"{self} has no counterpart in the DataStream API"
        raise InvalidArgumentError(msg, fix="cast the column to another type first")

    def _parts(self) -> tuple[object, ...]:
        """What makes two types of one class equal, beside NULL."""
        return ()

    def _sql(self) -> str:
        """The type in SQL, without NOT NULL."""
        return self.type_name()

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and self._nullable is other._nullable
            and self._parts() == other._parts()
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._nullable, self._parts()))

    def __str__(self) -> str:
        return self._sql() if self._nullable else f"{self._sql()} NOT NULL"

    def __repr__(self) -> str:
        shown = [*map(str, self._parts()), _truth(self._nullable)]
        return f"{type(self).__name__}({', '.join(shown)})"


def _truth(value: bool) -> str:  # as PyFlink's tests want it: like Java
    return str(value).lower()


class AtomicType(DataType):
    """A type without parts."""


class NullType(AtomicType):
    """The type of a bare NULL."""

    def __init__(self) -> None:
        super().__init__()

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.PICKLED_BYTE_ARRAY()


class NumericType(AtomicType):
    """Numbers."""


class IntegralType(NumericType):
    """Whole numbers.

    Attributes:
        bits: how wide they are. Ours.
    """

    bits: ClassVar[int]


class FractionalType(NumericType):
    """Numbers with digits behind the point."""


class _SizedType(AtomicType):
    """Texts and bytes of a length."""

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 1 <= length <= MAX_LENGTH:
            msg = f"there is no {self.type_name()}({length})"
            raise InvalidArgumentError(msg, fix=f"a length is between 1 and {MAX_LENGTH}")
        self.length = length

    def _parts(self) -> tuple[object, ...]:
        return (self.length,)

    def _sql(self) -> str:
        return f"{self.type_name()}({self.length})"


class CharType(_SizedType):
    """Texts of a fixed number of characters."""

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.STRING()


class VarCharType(_SizedType):
    """Texts of at most so many characters; of the largest number it is STRING."""

    def _sql(self) -> str:
        return "STRING" if self.length == MAX_LENGTH else super()._sql()

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.STRING()


class BinaryType(_SizedType):
    """Bytes of a fixed number."""

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class VarBinaryType(_SizedType):
    """Bytes of at most a number; of the largest number it is BYTES."""

    def _sql(self) -> str:
        return "BYTES" if self.length == MAX_LENGTH else super()._sql()

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.PRIMITIVE_ARRAY(Types.BYTE())


class BooleanType(AtomicType):
    """True and false."""

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.BOOLEAN()


class TinyIntType(IntegralType):
    """Whole numbers of one byte."""

    bits = 8

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.BYTE()


class SmallIntType(IntegralType):
    """Whole numbers of two bytes."""

    bits = 16

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.SHORT()


class IntType(IntegralType):
    """Whole numbers of four bytes."""

    bits = 32

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.INT()


class BigIntType(IntegralType):
    """Whole numbers of eight bytes."""

    bits = 64

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.LONG()


class FloatType(FractionalType):
    """Floating-point numbers of four bytes."""

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.FLOAT()


class DoubleType(FractionalType):
    """Floating-point numbers of eight bytes."""

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.DOUBLE()


class DecimalType(FractionalType):
    """Decimal numbers of so many digits, `scale` of them behind the point."""

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise InvalidArgumentError(
                f"there is no DECIMAL({precision}, {scale})",
                fix="a decimal has 1 to 38 digits, and at most that many after the point",
            )
        self.precision = precision
        self.scale = scale
        self.has_precision_info = True

    def _parts(self) -> tuple[object, ...]:
        return (self.precision, self.scale)

    def _sql(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.BIG_DEC()


class DateType(AtomicType):
    """Days."""

    EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()

    def need_conversion(self) -> bool:
        """See DataType."""
        return True

    def to_sql_type(self, obj: Record) -> Record:
        """The number of days since 1970."""
        return None if obj is None else obj.toordinal() - self.EPOCH_ORDINAL

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        return None if obj is None else datetime.date.fromordinal(obj + self.EPOCH_ORDINAL)

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.SQL_DATE()


class _PreciseTimeType(AtomicType):
    """Times with digits behind the second."""

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 0 <= precision <= 9:
            msg = f"there is no {type(self).__name__} of precision {precision}"
            raise InvalidArgumentError(msg, fix="seconds have 0 to 9 digits behind the point")
        self.precision = precision

    def _parts(self) -> tuple[object, ...]:
        return (self.precision,)

    def need_conversion(self) -> bool:
        """See DataType."""
        return True


class TimeType(_PreciseTimeType):
    """Times of a day, without a zone."""

    EPOCH_ORDINAL = calendar.timegm(time.localtime(0)) * _SECOND

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def _sql(self) -> str:
        return f"TIME({self.precision})"

    def to_sql_type(self, obj: Record) -> Record:
        """Microseconds of the day, in UTC."""
        if obj is None:
            return None
        offset = self.EPOCH_ORDINAL
        if obj.tzinfo is not None:
            offset = (obj.utcoffset() or datetime.timedelta()) // datetime.timedelta(microseconds=1)
        seconds = (obj.hour * 60 + obj.minute) * 60 + obj.second
        return seconds * _SECOND + obj.microsecond - offset

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        if obj is None:
            return None
        seconds, micros = divmod(obj + self.EPOCH_ORDINAL, _SECOND)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        return datetime.time(hour, minute, second, micros)

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.SQL_TIME()


def _micros_of(moment: datetime.datetime) -> int:
    """Microseconds since 1970; without a zone it is the time of this machine."""
    zoned = moment.tzinfo is not None
    seconds = (
        calendar.timegm(moment.utctimetuple()) if zoned else int(time.mktime(moment.timetuple()))
    )
    return seconds * _SECOND + moment.microsecond


def _moment_of(micros: int, zone: datetime.tzinfo | None = None) -> datetime.datetime:
    second = datetime.datetime.fromtimestamp(micros // _SECOND, tz=zone)
    return second.replace(microsecond=micros % _SECOND)


class TimestampType(_PreciseTimeType):
    """What a calendar and a clock show, without a zone."""

    def _sql(self) -> str:
        return f"TIMESTAMP({self.precision})"

    def to_sql_type(self, obj: Record) -> Record:
        """Microseconds since 1970, read as the time of this machine."""
        return None if obj is None else _micros_of(obj)

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        return None if obj is None else _moment_of(obj)

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.SQL_TIMESTAMP()


class LocalZonedTimestampType(_PreciseTimeType):
    """Points in time, shown in the zone of the session: TIMESTAMP_LTZ."""

    EPOCH_ORDINAL = calendar.timegm(time.localtime(0)) * _SECOND

    def _sql(self) -> str:
        return f"TIMESTAMP_LTZ({self.precision})"

    def to_sql_type(self, obj: Record) -> Record:
        """Microseconds since 1970, as the clock of this machine would count them."""
        return None if obj is None else _micros_of(obj) + self.EPOCH_ORDINAL

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        return None if obj is None else _moment_of(obj - self.EPOCH_ORDINAL)

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.INSTANT()


class ZonedTimestampType(_PreciseTimeType):
    """Points in time that remember their zone; Flink has the type, and no operation on it."""

    def _sql(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"

    def to_sql_type(self, obj: Record) -> Record:
        """Microseconds since 1970 of the local clock, and its distance from UTC in seconds."""
        if obj is None:
            return None
        zoned = obj if obj.tzinfo is not None else obj.astimezone()
        offset = int(zoned.utcoffset().total_seconds())
        return _micros_of(obj) + offset * _SECOND, offset

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        if obj is None:
            return None
        micros, offset = obj
        zone = datetime.timezone(datetime.timedelta(seconds=offset))
        return _moment_of(micros - offset * _SECOND, zone)
