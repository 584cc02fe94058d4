"""Types of the Table API that are made of others: arrays, maps, rows, and what users define.

In: ``DataTypes`` (common/data_types.py) and SQL.  Out: types like those of common/atomic_types.py.
Next: common/data_types.py
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, NoReturn, overload

from headrace.common.atomic_types import DataType, _truth
from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row, RowKind
from headrace.errors import ArgumentTypeError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.common.opaque import ForeignObject, Record


def _checked(part: object, name: str) -> DataType:
    if isinstance(part, DataType):
        return part
    fix = "call the factory: DataTypes.INT(), not DataTypes.INT"
    raise ArgumentTypeError(f"{name} is {part!r}, which is not a type of DataTypes", fix=fix)


def _checked_name(name: object) -> str:
    if isinstance(name, str):
        return name
    raise ArgumentTypeError(f"the name of a field is {name!r}", fix="give it as text")


class _CollectionType(DataType):
    """Several values of one type."""

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = _checked(element_type, "element_type")

    def _parts(self) -> tuple[object, ...]:
        return (self.element_type,)

    def _sql(self) -> str:
        return f"{self.type_name()}<{self.element_type}>"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.element_type!r}, {_truth(self._nullable)})"

    def need_conversion(self) -> bool:
        """See DataType."""
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        return obj and [self.element_type.to_sql_type(value) for value in obj]

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        return obj and [self.element_type.from_sql_type(value) for value in obj]


class ArrayType(_CollectionType):
    """Lists of values of one type."""

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.LIST(self.element_type.to_type_info())


class MultisetType(_CollectionType):
    """Values with how often each of them is there."""

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.MAP(self.element_type.to_type_info(), Types.INT())


class _ViewType(DataType):
    """Collections that an aggregate function keeps in state."""

    def __init__(self) -> None:
        super().__init__(nullable=False)

    def _refuse(self) -> NoReturn:
        msg = f"{self} has no values of its own: only accumulators of aggregate functions have it"
        raise InvalidArgumentError(msg, fix="use it in get_accumulator_type alone")

    def to_sql_type(self, obj: Record) -> NoReturn:
        """Raises: views are never sent."""
        self._refuse()

    def from_sql_type(self, obj: Record) -> NoReturn:
        """Raises: views are never sent."""
        self._refuse()


class ListViewType(_ViewType):
    """A list that an accumulator holds in state."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__()
        self._element_type = _checked(element_type, "element_type")

    def _parts(self) -> tuple[object, ...]:
        return (self._element_type,)

    def __repr__(self) -> str:
        return f"ListViewType({self._element_type!r})"


class MapType(DataType):
    """Values by key."""

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = _checked(key_type, "key_type")
        self.value_type = _checked(value_type, "value_type")

    def _parts(self) -> tuple[object, ...]:
        return (self.key_type, self.value_type)

    def _sql(self) -> str:
        return f"MAP<{self.key_type}, {self.value_type}>"

    def __repr__(self) -> str:
        return f"MapType({self.key_type!r}, {self.value_type!r}, {_truth(self._nullable)})"

    def need_conversion(self) -> bool:
        """See DataType."""
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        key, value = self.key_type.to_sql_type, self.value_type.to_sql_type
        return obj and {key(k): value(v) for k, v in obj.items()}

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        key, value = self.key_type.from_sql_type, self.value_type.from_sql_type
        return obj and {key(k): value(v) for k, v in obj.items()}

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.MAP(self.key_type.to_type_info(), self.value_type.to_type_info())


class MapViewType(_ViewType):
    """A map that an accumulator holds in state."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__()
        self._key_type = _checked(key_type, "key_type")
        self._value_type = _checked(value_type, "value_type")

    def _parts(self) -> tuple[object, ...]:
        return (self._key_type, self._value_type)

    def __repr__(self) -> str:
        return f"MapViewType({self._key_type!r}, {self._value_type!r})"


class RowField:
    """A field of a row: name, type, and what it is for."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        self.name = _checked_name(name)
        self.data_type = _checked(data_type, f"the type of field {name!r}")
        self.description = "..." if description is None else description

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description})"

    def __str__(self) -> str:
        return f"RowField({self.name}, {self.data_type})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[object, ...]:
        return (self.name, self.data_type, self.description)

    def _sql(self) -> str:
        text = f"`{self.name.replace('`', '``')}` {self.data_type}"
        if self.description == "...":
            return text
        return f"{text} '{self.description.replace(chr(39), chr(39) * 2)}'"

    def need_conversion(self) -> bool:
        """See DataType."""
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        return self.data_type.from_sql_type(obj)


class RowType(DataType):
    """Rows: fields in order, each with a name and a type.

    Example:
        >>> RowType().add("a", IntType()).field_names()
        ['a']
    """

    def __init__(self, fields: Sequence[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or ())
        if not all(isinstance(field, RowField) for field in self.fields):
            msg = f"fields are {fields!r}, not all of which are fields"
            raise ArgumentTypeError(msg, fix="make each with DataTypes.FIELD(name, type)")

    @property
    def names(self) -> list[str]:
        """The names of the fields."""
        return [field.name for field in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Puts a field behind the others.

        Args:
            field: the field, or its name.
            data_type: its type, if a name was given.
        """
        if not isinstance(field, RowField):
            if data_type is None:
                msg = f"field {field!r} has no type"
                raise InvalidArgumentError(msg, fix="give the type behind the name")
            field = RowField(field, data_type)
        self.fields.append(field)
        return self

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __bool__(self) -> bool:  # a type is there, even without fields
        return True

    @overload
    def __getitem__(self, key: str | int) -> RowField: ...

    @overload
    def __getitem__(self, key: slice) -> RowType: ...

    def __getitem__(self, key: str | int | slice) -> RowField | RowType:
        if isinstance(key, str):
            for field in self.fields:
                if field.name == key:
                    return field
            msg = f"the row has no field {key!r}; its fields are {self.names}"
            raise KeyError(msg)
        if isinstance(key, slice):
            return RowType(self.fields[key])
        return self.fields[key]

    def field_names(self) -> list[str]:
        """The names of the fields, in order."""
        return self.names

    def field_types(self) -> list[DataType]:
        """The types of the fields, in order."""
        return [field.data_type for field in self.fields]

    def _with(self, *, nullable: bool) -> RowType:
        return self if self._nullable is nullable else RowType(self.fields, nullable)

    def _parts(self) -> tuple[object, ...]:
        return tuple(self.fields)

    def _sql(self) -> str:
        return f"ROW<{', '.join(field._sql() for field in self.fields)}>"

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))}, {_truth(self._nullable)})"

    def need_conversion(self) -> bool:
        """Always: rows become tuples."""
        return True

    def to_sql_type(self, obj: Record) -> Record:
        """The kind of the row, and its values, as one tuple."""
        if obj is None:
            return None
        kind = obj.get_row_kind() if isinstance(obj, Row) else RowKind.INSERT
        pairs = zip(self.fields, self.values_of(obj), strict=False)
        return (kind.value, *(field.to_sql_type(value) for field, value in pairs))

    def values_of(self, obj: Record) -> Sequence[Record]:
        """The values of a row, tuple, list, dict or object, in the order of the fields. Ours.

        Raises:
            ValueError: it is none of these.
        """
        if isinstance(obj, dict):
            return [obj.get(name) for name in self.names]
        if isinstance(obj, Row):
            return obj.get_fields_by_names(self.names)
        if isinstance(obj, tuple | list):
            return obj
        if hasattr(obj, "__dict__"):
            return [vars(obj).get(name) for name in self.names]
        msg = f"{obj!r} is no row of the fields {self.names}"
        raise ValueError(msg)

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        if obj is None or isinstance(obj, Row):
            return obj
        pairs = zip(self.fields, obj, strict=False)
        return Row.of_values(tuple(f.from_sql_type(value) for f, value in pairs), self.names)

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.ROW_NAMED(self.names, [kind.to_type_info() for kind in self.field_types()])


class RawType(DataType):
    """Any Python object, pickled."""

    def from_sql_type(self, obj: Record) -> Record:
        """The object of its pickle."""
        return pickle.loads(obj)

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return Types.PICKLED_BYTE_ARRAY()


class UserDefinedType(DataType):
    """A class of the user that is kept as a value of another type.  Derive from it."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def type_name(cls) -> str:
        """The class's name."""
        return cls.__name__.lower()

    @classmethod
    def sql_type(cls) -> DataType:
        """The type that values are kept as."""
        msg = f"{cls.__name__} does not say as what its values are kept"
        raise NotImplementedError(msg)

    @classmethod
    def module(cls) -> str:
        """The module of the class."""
        return cls.__module__

    @classmethod
    def java_udt(cls) -> str:
        """Its class in the JVM, which headrace does not need."""
        return ""

    def need_conversion(self) -> bool:
        """See DataType."""
        return True

    def to_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Record) -> Record:
        """See DataType."""
        datum = self.sql_type().from_sql_type(obj)
        return None if datum is None else self.deserialize(datum)

    def serialize(self, obj: ForeignObject) -> Record:
        """An object of the user as a value of `sql_type`."""
        msg = f"{type(self).__name__} does not say how to keep {obj!r}"
        raise NotImplementedError(msg)

    def deserialize(self, datum: Record) -> ForeignObject:
        """The object of a value of `sql_type`."""
        msg = f"{type(self).__name__} does not say what {datum!r} means"
        raise NotImplementedError(msg)

    def to_type_info(self) -> TypeInformation:
        """See DataType."""
        return self.sql_type().to_type_info()
