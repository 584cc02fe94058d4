"""What a stream's records are made of: ``TypeInformation`` and the factory ``Types``.

In: types the user declares, or that common/type_inference.py reads from hints.  Out: descriptions
without behaviour.  Next: data/codec.py turns a type into Arrow columns and checks values.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Literal

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TypeInformation", "Types"]


class TypeInformation:
    """Describes the records of a stream or the values of a state.

    Types compare by what they describe and can be used as dict keys.
    """

    def _parts(self) -> tuple[object, ...]:
        """What makes two types of one class equal."""
        return ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((type(self), self._parts()))

    def __repr__(self) -> str:
        return type(self).__name__


class BasicType(Enum):
    """The indivisible types."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation):
    """A number, a truth value, a text, or a point in time."""

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = basic_type

    @property
    def basic_type(self) -> BasicType:
        """Which of the basic types this is."""
        return self._basic_type

    def _parts(self) -> tuple[object, ...]:
        return (self._basic_type,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BasicTypeInfo) and self._basic_type is other._basic_type

    def __hash__(self) -> int:
        return hash((BasicTypeInfo, self._basic_type))

    def __repr__(self) -> str:
        return self._basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """Text."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """True or False."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """Whole number of 8 bits."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """Whole number of 16 bits."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """Whole number of 32 bits."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """Whole number of 64 bits."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """Floating-point number of 32 bits."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """Floating-point number of 64 bits."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """Text of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """Whole number of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """``decimal.Decimal`` of any precision."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        """``headrace.common.Instant``."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """A point in time as ``headrace.common.Instant``, kept to the microsecond."""


class SqlTimeTypeInfo(TypeInformation):
    """Factory of the date and time types."""

    @staticmethod
    def DATE() -> TypeInformation:
        """``datetime.date``."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TypeInformation:
        """``datetime.time``."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TypeInformation:
        """``datetime.datetime`` without a zone."""
        return TimestampTypeInfo()


class DateTypeInfo(TypeInformation):
    """``datetime.date``."""


class TimeTypeInfo(TypeInformation):
    """``datetime.time`` without a zone."""


class TimestampTypeInfo(TypeInformation):
    """``datetime.datetime`` without a zone: what a wall clock shows."""


class ZonedTimestampTypeInfo(TypeInformation):
    """``datetime.datetime`` with a zone; comes back as the same point in time, in UTC. Ours."""


class LocalTimeTypeInfo(TypeInformation):
    """The date and time types under the names of Java's ``java.time``."""

    class TimeType(Enum):
        """Which of the three."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: LocalTimeTypeInfo.TimeType) -> None:
        self._time_type = time_type

    @property
    def time_type(self) -> LocalTimeTypeInfo.TimeType:
        """Which of the three."""
        return self._time_type

    def _parts(self) -> tuple[object, ...]:
        return (self._time_type,)

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self._time_type.name}>"


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object, travelling as its pickle. The type of every undeclared stream."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PickledBytesTypeInfo)

    def __hash__(self) -> int:
        return hash(PickledBytesTypeInfo)

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


class _ElementTypeInfo(TypeInformation):
    """Shared by the types that hold elements of one type."""

    def __init__(self, element_type: TypeInformation) -> None:
        self._element_type = _as_type(element_type, "element_type")

    @property
    def element_type(self) -> TypeInformation:
        """The type of each element."""
        return self._element_type

    def _parts(self) -> tuple[object, ...]:
        return (self._element_type,)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._element_type}>"


class PrimitiveArrayTypeInfo(_ElementTypeInfo):
    """A list of numbers without None; of bytes, it is a ``bytes`` object."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        _check_element(element_type, _PRIMITIVES, "PRIMITIVE_ARRAY")


class BasicArrayTypeInfo(_ElementTypeInfo):
    """A list of numbers or texts, None allowed."""

    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__(element_type)
        _check_element(element_type, (*_PRIMITIVES, BasicType.STRING), "BASIC_ARRAY")


class ObjectArrayTypeInfo(_ElementTypeInfo):
    """A list of values of any one type."""


class ListTypeInfo(_ElementTypeInfo):
    """A list of values of any one type."""

    @property
    def elem_type(self) -> TypeInformation:
        """The type of each element, under PyFlink's name."""
        return self._element_type


class MapTypeInfo(TypeInformation):
    """A dict whose keys are of one type and whose values are of one type."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self._key_type_info = _as_type(key_type_info, "key_type_info")
        self._value_type_info = _as_type(value_type_info, "value_type_info")

    @property
    def key_type(self) -> TypeInformation:
        """The type of the keys."""
        return self._key_type_info

    @property
    def value_type(self) -> TypeInformation:
        """The type of the values."""
        return self._value_type_info

    def _parts(self) -> tuple[object, ...]:
        return (self._key_type_info, self._value_type_info)

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"


class TupleTypeInfo(TypeInformation):
    """A tuple of fixed length whose items each have a type."""

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        self._field_types = [_as_type(t, f"field_types[{i}]") for i, t in enumerate(field_types)]

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the items, in order."""
        return self._field_types

    def get_field_names(self) -> list[str]:
        """``f0``, ``f1``, ...: the names of the columns. Ours."""
        return [f"f{i}" for i in range(len(self._field_types))]

    def _parts(self) -> tuple[object, ...]:
        return tuple(self._field_types)

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(str, self._field_types))})"


class RowTypeInfo(TypeInformation):
    """A ``Row`` whose fields each have a type and, mostly, a name.

    As in Flink, equality looks at the field types only; ``schema_equals`` also compares names.
    """

    def __init__(
        self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None
    ) -> None:
        self._field_types = [_as_type(t, f"field_types[{i}]") for i, t in enumerate(field_types)]
        self._field_names = list(field_names) if field_names else None
        if self._field_names is not None:
            _check_names(self._field_names, len(self._field_types))

    @property
    def is_named(self) -> bool:
        """Whether the user gave names; without, fields are called f0, f1, ..."""
        return self._field_names is not None

    def get_field_names(self) -> list[str]:
        """The names of the fields, in order."""
        return self._field_names or [f"f{i}" for i in range(len(self._field_types))]

    def get_field_types(self) -> list[TypeInformation]:
        """The types of the fields, in order."""
        return self._field_types

    def get_field_index(self, field_name: str) -> int:
        """The position of a field; -1 if the row's fields have no names."""
        return -1 if self._field_names is None else self._field_names.index(field_name)

    def schema_equals(self, other: object) -> bool:
        """Whether the other type has the same field types and the same names."""
        return (
            isinstance(other, RowTypeInfo)
            and self == other
            and self.get_field_names() == other.get_field_names()
        )

    def _parts(self) -> tuple[object, ...]:
        return tuple(self._field_types)

    def __repr__(self) -> str:
        if self._field_names is None:
            return f"RowTypeInfo({', '.join(map(str, self._field_types))})"
        pairs = zip(self._field_names, self._field_types, strict=True)
        return f"RowTypeInfo({', '.join(f'{name}: {kind}' for name, kind in pairs)})"


class ClassTypeInfo(RowTypeInfo):
    """A row whose records are instances of a dataclass, NamedTuple or TypedDict. Ours.

    Made by type inference. Inside headrace such records travel as columns; the functions of the
    user see instances of the class.
    """

    Flavour = Literal["dataclass", "namedtuple", "typeddict"]

    def __init__(
        self,
        record_class: type,
        flavour: ClassTypeInfo.Flavour,
        field_types: Sequence[TypeInformation],
        field_names: Sequence[str],
    ) -> None:
        super().__init__(field_types, field_names)
        self.record_class = record_class
        self.flavour = flavour

    def _parts(self) -> tuple[object, ...]:
        return (self.record_class, *self._field_types)

    def __repr__(self) -> str:
        return f"{self.record_class.__name__}{super().__repr__().removeprefix('RowTypeInfo')}"


class ExternalTypeInfo(TypeInformation):
    """A type that came from a table; its records look like those of the type it wraps."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = _as_type(type_info, "type_info")

    @property
    def type_info(self) -> TypeInformation:
        """The wrapped type."""
        return self._type_info

    def _parts(self) -> tuple[object, ...]:
        return (self._type_info,)

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self._type_info}>"


class Types:
    """Where types come from: ``Types.INT()``, ``Types.ROW([...])`` and so on.

    In headrace every field may hold None; whole rows and tuples, and keys of maps, may not.
    """

    @staticmethod
    def STRING() -> TypeInformation:
        """Text: ``str``."""
        return BasicTypeInfo.STRING_TYPE_INFO()

    @staticmethod
    def BYTE() -> TypeInformation:
        """Whole number from -128 to 127: ``int``."""
        return BasicTypeInfo.BYTE_TYPE_INFO()

    @staticmethod
    def BOOLEAN() -> TypeInformation:
        """True or False: ``bool``."""
        return BasicTypeInfo.BOOLEAN_TYPE_INFO()

    @staticmethod
    def SHORT() -> TypeInformation:
        """Whole number of 16 bits: ``int``."""
        return BasicTypeInfo.SHORT_TYPE_INFO()

    @staticmethod
    def INT() -> TypeInformation:
        """Whole number of 32 bits: ``int``."""
        return BasicTypeInfo.INT_TYPE_INFO()

    @staticmethod
    def LONG() -> TypeInformation:
        """Whole number of 64 bits: ``int``."""
        return BasicTypeInfo.LONG_TYPE_INFO()

    @staticmethod
    def FLOAT() -> TypeInformation:
        """Floating-point number of 32 bits: ``float``."""
        return BasicTypeInfo.FLOAT_TYPE_INFO()

    @staticmethod
    def DOUBLE() -> TypeInformation:
        """Floating-point number of 64 bits: ``float``."""
        return BasicTypeInfo.DOUBLE_TYPE_INFO()

    @staticmethod
    def CHAR() -> TypeInformation:
        """Text of one character: ``str``."""
        return BasicTypeInfo.CHAR_TYPE_INFO()

    @staticmethod
    def BIG_INT() -> TypeInformation:
        """Whole number of any size: ``int``."""
        return BasicTypeInfo.BIG_INT_TYPE_INFO()

    @staticmethod
    def BIG_DEC() -> TypeInformation:
        """Decimal number of any precision: ``decimal.Decimal``."""
        return BasicTypeInfo.BIG_DEC_TYPE_INFO()

    @staticmethod
    def INSTANT() -> TypeInformation:
        """Point in time: ``headrace.common.Instant``, kept to the microsecond."""
        return BasicTypeInfo.INSTANT_TYPE_INFO()

    @staticmethod
    def SQL_DATE() -> TypeInformation:
        """Calendar date: ``datetime.date``."""
        return SqlTimeTypeInfo.DATE()

    @staticmethod
    def SQL_TIME() -> TypeInformation:
        """Time of day without a zone: ``datetime.time``."""
        return SqlTimeTypeInfo.TIME()

    @staticmethod
    def SQL_TIMESTAMP() -> TypeInformation:
        """Date and time of day without a zone: ``datetime.datetime``."""
        return SqlTimeTypeInfo.TIMESTAMP()

    @staticmethod
    def TIMESTAMP_LTZ() -> TypeInformation:
        """Point in time: ``datetime.datetime`` with a zone, decoded in UTC. Ours."""
        return ZonedTimestampTypeInfo()

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python object that can be pickled."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation]) -> RowTypeInfo:
        """``Row`` with fields f0, f1, ... of the given types."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(
        field_names: Sequence[str], field_types: Sequence[TypeInformation]
    ) -> RowTypeInfo:
        """``Row`` with fields of the given names and types."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation]) -> TupleTypeInfo:
        """``tuple`` with items of the given types."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> PrimitiveArrayTypeInfo:
        """``list`` of numbers without None; of ``Types.BYTE()`` it is ``bytes``."""
        return PrimitiveArrayTypeInfo(element_type)

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """``list`` of numbers or texts, None allowed."""
        return BasicArrayTypeInfo(element_type)

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """``list`` of values of any one type, None allowed."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """``dict`` with keys of one type and values of one type."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """``list`` of values of any one type."""
        return ListTypeInfo(element_type_info)


_PRIMITIVES = (
    BasicType.BOOLEAN,
    BasicType.BYTE,
    BasicType.SHORT,
    BasicType.INT,
    BasicType.LONG,
    BasicType.FLOAT,
    BasicType.DOUBLE,
    BasicType.CHAR,
)


def _as_type(value: object, name: str) -> TypeInformation:
    if isinstance(value, TypeInformation):
        return value
    msg = f"{name} is {value!r}, which is not a type of headrace.common.Types"
    fix = "call the factory: Types.INT(), not Types.INT" if callable(value) else "use Types.…()"
    raise InvalidArgumentError(msg, fix=fix)


def _check_element(element: TypeInformation, allowed: Sequence[BasicType], array: str) -> None:
    if not (isinstance(element, BasicTypeInfo) and element.basic_type in allowed):
        msg = f"Types.{array} cannot hold elements of type {element}"
        raise InvalidArgumentError(msg, fix="use Types.OBJECT_ARRAY or Types.LIST")


def _check_names(names: list[str], arity: int) -> None:
    if len(names) != arity:
        msg = f"a row type has {arity} field types but {len(names)} field names {names}"
        raise InvalidArgumentError(msg, fix="give one name for each type")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        msg = f"a row type uses the field name {repeated[0]!r} more than once"
        raise InvalidArgumentError(msg, fix="give every field a name of its own")
