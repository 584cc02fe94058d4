"""Plans as JSON: what COMPILE PLAN writes, and EXECUTE PLAN reads.

    Calc(Scan(orders), ...)   ──▶   {"is": "Calc", "input": {"is": "Scan", ...}, ...}

Every node is written by its class and its fields, so that a plan comes back as it was.  Tables are
written with their columns and options, types as SQL, functions of the user by the name under which
they are registered: a file has no code in it.
In: nodes after all rules.  Out: what `json` can write, and nodes again.
Next: table/compiled_plan.py puts it into files
"""

from __future__ import annotations

import base64
import datetime as dt
import inspect
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from headrace.api.table.definitions import UserFunctionDefinition
from headrace.common.data_types import (
    DataType,
    DayTimeIntervalType,
    NullType,
    RowField,
    RowType,
    YearMonthIntervalType,
)
from headrace.errors import InvalidArgumentError, UnsupportedStepError
from headrace.rel import nodes
from headrace.rel.connected_tables import origin_of
from headrace.rel.resolve.type_names import data_type
from headrace.rel.tables import TableOrigin
from headrace.scalars import aggregates, matches
from headrace.scalars import nodes as scalars
from headrace.spi.table_connector import TableDefinition, TableMetadataColumn
from headrace.sql.parser import parse_type

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from headrace.common.opaque import JsonObject, JsonValue

_IS = "is"


def _classes(*modules: ModuleType) -> dict[str, type]:
    return {
        name: found
        for module in modules
        for name, found in vars(module).items()
        if inspect.isclass(found) and found.__module__ == module.__name__
    }


# everything that plans are made of
_KNOWN = _classes(nodes, scalars, aggregates, matches)
_VALUES: dict[str, tuple[type, Callable[[JsonValue], str], Callable[[str], JsonValue]]] = {
    "decimal": (Decimal, str, Decimal),
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "bytes": (bytes, lambda v: base64.b64encode(v).decode(), base64.b64decode),
}


@dataclass(frozen=True)
class PlanFunctions:
    """How functions of the user are named in a plan.

    Attributes:
        name_of: the name under which a function is registered; None if it is not.
        find: a function by such a name; None if there is none.
    """

    name_of: Callable[[UserFunctionDefinition], str | None]
    find: Callable[[str], UserFunctionDefinition | None]


class PlanWriter:
    """Makes JSON of nodes.

    Args:
        functions: name functions of the user.
    """

    def __init__(self, functions: PlanFunctions) -> None:
        self._functions = functions

    def write(self, value: JsonValue) -> JsonValue:
        """A node, or a part of one.

        Raises:
            UnsupportedStepError: it cannot be kept in a file.
        """
        if value is None or (isinstance(value, bool | int | float | str) and not _is_enum(value)):
            return value
        if isinstance(value, Enum):
            return {_IS: type(value).__name__, "value": value.value}
        if isinstance(value, DataType):
            return _written_type(value)
        if isinstance(value, TableOrigin):
            return {_IS: "table", **written_definition(value.definition, value.name)}
        if isinstance(value, UserFunctionDefinition):
            return {_IS: "function", "name": self._name_of(value)}
        if type(value).__name__ in _KNOWN:
            return {_IS: type(value).__name__, **self._fields(value)}
        if isinstance(value, tuple | list):
            return [self.write(part) for part in value]
        if isinstance(value, dict):
            pairs = [[self.write(k), self.write(v)] for k, v in value.items()]
            return {_IS: "map", "entries": pairs}
        for name, (kind, write, _) in _VALUES.items():
            if isinstance(value, kind):
                return {_IS: name, "value": write(value)}
        raise UnsupportedStepError(
            f"a plan with {type(value).__name__} cannot be kept in a file",
            fix="execute the statement itself",
        )

    def _fields(self, value: JsonValue) -> JsonObject:
        names = (
            [each.name for each in fields(value)] if is_dataclass(value) else list(value._fields)
        )
        return {name: self.write(getattr(value, name)) for name in names}

    def _name_of(self, function: UserFunctionDefinition) -> str:
        found = self._functions.name_of(function)
        if found is None:
            raise UnsupportedStepError(
                f"function {function.name} has no name by which a plan could find it again",
                fix="register it: create_temporary_system_function(name, f), and call it by name",
            )
        return found


class PlanReader:
    """Makes nodes of JSON.

    Args:
        functions: find functions of the user.
    """

    def __init__(self, functions: PlanFunctions) -> None:
        self._functions = functions
        # two scans of one table hold the same object, so that it is read once
        self._tables: dict[str, TableOrigin] = {}

    def read(self, value: JsonValue) -> JsonValue:
        """A node, or a part of one.

        Raises:
            InvalidArgumentError: it is no plan, or needs what is not here.
        """
        if isinstance(value, list):
            return tuple(self.read(part) for part in value)
        if not isinstance(value, dict):
            return value
        kind = value.get(_IS)
        if kind in _VALUES:
            return _VALUES[kind][2](value["value"])
        match kind:
            case "type":
                return data_type(parse_type(value["sql"]))
            case "interval":
                return _read_interval(value)
            case "null":
                return NullType()
            case "table":
                return self._table(value)
            case "function":
                return self._function(value["name"])
            case "map":
                return {self.read(k): self.read(v) for k, v in value["entries"]}
        found = _KNOWN.get(str(kind))
        if found is None:
            raise InvalidArgumentError(f"a plan of this version has no {kind!r}", fix=_AGAIN)
        if issubclass(found, Enum):
            return found(value["value"])
        given = {name: self.read(part) for name, part in value.items() if name != _IS}
        try:
            return found(**given)
        except TypeError as error:
            raise InvalidArgumentError(f"{kind} is another one here: {error}", fix=_AGAIN) from None

    def _table(self, value: JsonObject) -> TableOrigin:
        key = repr(value)
        if key not in self._tables:
            self._tables[key] = origin_of(read_definition(value))
        return self._tables[key]

    def _function(self, name: str) -> UserFunctionDefinition:
        found = self._functions.find(name)
        if found is None:
            raise InvalidArgumentError(
                f"the plan calls {name}, and this session has no such function",
                fix=f"register it before: create_temporary_system_function({name!r}, ...)",
            )
        return found


_AGAIN = "compile the plan again with this version"


def _is_enum(value: object) -> bool:
    return isinstance(value, Enum)


def _written_type(kind: DataType) -> JsonObject:
    """A type; those of intervals and of NULL have no text that says all of them."""
    parts: JsonObject
    match kind:
        case NullType():
            return {_IS: "null"}
        case DayTimeIntervalType():
            digits = [kind._day_precision, kind._fractional_precision]
            parts = {"times": kind._resolution.name, "digits": digits}
        case YearMonthIntervalType():
            parts = {"months": kind._resolution, "digits": [kind._precision]}
        case _:
            return {_IS: "type", "sql": _type_text(kind)}
    return {_IS: "interval", **parts, "nullable": kind.is_nullable}


def _read_interval(value: JsonObject) -> DataType:
    digits, nullable = value["digits"], bool(value["nullable"])
    if "months" in value:
        return YearMonthIntervalType(value["months"], digits[0], nullable)
    resolution = DayTimeIntervalType.DayTimeResolution[value["times"]]
    return DayTimeIntervalType(resolution, digits[0], digits[1], nullable)


def _type_text(kind: DataType) -> str:
    text = str(kind)
    try:
        same = data_type(parse_type(text)) == kind
    except Exception:
        same = False
    if not same:
        raise UnsupportedStepError(
            f"the type {text} cannot be kept in a file",
            fix="cast the column to a type of SQL, or execute the statement itself",
        )
    return text


# --- tables --------------------------------------------------------------------------------------


def written_definition(definition: TableDefinition | None, name: str) -> JsonObject:
    """A table as JSON.

    Raises:
        UnsupportedStepError: it is in the memory of this program.
    """
    if definition is None or not definition.options:
        raise UnsupportedStepError(
            f"the lines of {name} are in this program, so a plan could not find them again",
            fix="give the table a connector: CREATE TABLE ... WITH ('connector' = ...)",
        )
    return {
        "name": definition.name,
        "columns": [[f.name, _type_text(f.data_type)] for f in definition.columns.fields],
        "options": dict(definition.options),
        "metadata": [[m.name, m.key, _type_text(m.type), m.virtual] for m in definition.metadata],
        "primary-key": list(definition.primary_key),
        "partition-keys": list(definition.partition_keys),
    }


def read_definition(value: JsonObject) -> TableDefinition:
    """A table of a plan."""
    columns = [RowField(name, data_type(parse_type(text))) for name, text in value["columns"]]
    return TableDefinition(
        name=value["name"],
        columns=RowType(columns),
        options=value["options"],
        metadata=tuple(
            TableMetadataColumn(name, key, data_type(parse_type(text)), virtual)
            for name, key, text, virtual in value["metadata"]
        ),
        primary_key=tuple(value["primary-key"]),
        partition_keys=tuple(value["partition-keys"]),
    )
