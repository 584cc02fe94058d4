"""Computes the constants of Java classes: programs, rows, texts.

In: trees (java_syntax.py), classes of a checkout.  Out: `Program`s (steps.py) with Python values;
a lambda becomes a Python function, whose calls on headrace's objects have PyFlink's names.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from flink_programs.functions import TWINS
from flink_programs.java_syntax import JavaClass, JavaMethod, NotRead, Tree
from flink_programs.steps import (
    KINDS,
    JavaMode,
    JavaRow,
    ModeBuilder,
    Program,
    Symbol,
    TableStep,
    flat,
)

if TYPE_CHECKING:
    from flink_programs.checkout import Checkout

EPOCH = dt.datetime(1970, 1, 1)


class _Returned(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Values:
    """Fields and methods of one class, computed when asked for."""

    def __init__(self, java_class: JavaClass, checkout: Checkout | None, all_: Any = None) -> None:
        self.java_class = java_class
        self.checkout = checkout
        self._all: dict[str, Values] = {} if all_ is None else all_
        self._all[java_class.name] = self
        self._fields: dict[str, Any] = {}

    def field(self, name: str) -> Any:
        """The value of a static field."""
        if name not in self._fields:
            self._fields[name] = self.value(self.java_class.fields[name], {})
        return self._fields[name]

    def call(self, name: str, arguments: list[Any]) -> Any:
        """Calls a static method."""
        methods = self.java_class.methods[name]
        fits = [m for m in methods if len(m.parameters) == len(arguments) and not m.variadic]
        method = (fits or [m for m in methods if m.variadic] or methods)[0]
        if method.body is None:
            raise NotRead(f"the method {name}")
        return self._run(method.body, _bound(method, arguments))

    def other(self, name: str) -> Values | None:
        """Another class of the checkout."""
        if name not in self._all and self.checkout is not None:
            found = self.checkout.java_class(name)
            if found is None:
                return None
            Values(found, self.checkout, self._all)
        return self._all.get(name)

    # --- statements -----------------------------------------------------------------------------

    def _run(self, body: list[Tree], names: dict[str, Any]) -> Any:
        try:
            for each in body:
                self._do(each, names)
        except _Returned as returned:
            return returned.value
        return None

    def _do(self, tree: Tree, names: dict[str, Any]) -> None:
        kind = tree[0]
        if kind == "return":
            raise _Returned(None if tree[1] is None else self.value(tree[1], names))
        if kind == "set":
            names[tree[1]] = self.value(tree[2], names)
        elif kind == "do":
            self.value(tree[1], names)
        elif kind == "if":
            chosen = tree[2] if self.value(tree[1], names) else tree[3]
            if chosen is not None:
                self._do(chosen, names)
        elif kind == "block":
            for each in tree[1]:
                self._do(each, names)
        else:
            raise NotRead(f"the statement {kind}")

    # --- expressions ----------------------------------------------------------------------------

    def value(self, tree: Tree, names: dict[str, Any]) -> Any:
        """The value of an expression."""
        return getattr(self, f"_{tree[0]}")(names, *tree[1:])

    def _null(self, names: dict[str, Any]) -> None:
        return None

    def _value(self, names: dict[str, Any], value: str) -> str:
        return value

    def _number(self, names: dict[str, Any], text: str) -> Any:
        text = text.replace("_", "")
        if text.startswith("0x"):
            return int(text.rstrip("lL"), 16)
        if text[-1] in "fF":
            return np.float32(text[:-1])
        if text[-1] in "dD" or "." in text or "e" in text.lower():
            return float(text.rstrip("dD"))
        return int(text.rstrip("lL"))

    def _name(self, names: dict[str, Any], name: str) -> Any:
        if name in names:
            return names[name]
        if name in ("null", "true", "false"):
            return {"null": None, "true": True, "false": False}[name]
        if name in self.java_class.fields:
            return self.field(name)
        if name in self.java_class.static_imports:
            return self._member_of(Symbol(self.java_class.static_imports[name]), name)
        return Symbol(name)

    def _array(self, names: dict[str, Any], items: list[Tree]) -> list[Any]:
        return [self.value(item, names) for item in items]

    def _bytes(self, names: dict[str, Any], items: list[Tree]) -> bytes:
        return bytes(self.value(item, names) % 256 for item in items)

    def _lambda(self, names: dict[str, Any], parameters: list[str], body: list[Tree]) -> Any:
        def function(*arguments: Any) -> Any:
            bound = dict(zip(parameters, arguments, strict=False))
            return self._run(body, {**names, **bound})

        return function

    def _choose(self, names: dict[str, Any], condition: Tree, first: Tree, second: Tree) -> Any:
        return self.value(first if self.value(condition, names) else second, names)

    def _unary(self, names: dict[str, Any], sign: str, inner: Tree) -> Any:
        value = self.value(inner, names)
        return -value if sign == "-" else not value

    def _binary(self, names: dict[str, Any], sign: str, first: Tree, second: Tree) -> Any:
        left, right = self.value(first, names), self.value(second, names)
        if sign == "+" and (isinstance(left, str) or isinstance(right, str)):
            return java_string(left) + java_string(right)
        if isinstance(left, Symbol) or isinstance(right, Symbol):
            return (left == right) is (sign == "==")
        made = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left // right if isinstance(left, int) else left / right,
            "%": lambda: left % right,
            "==": lambda: left == right,
            "!=": lambda: left != right,
            "<": lambda: left < right,
            ">": lambda: left > right,
            "<=": lambda: left <= right,
            ">=": lambda: left >= right,
            "&&": lambda: left and right,
            "||": lambda: left or right,
        }
        return made[sign]()

    def _cast(self, names: dict[str, Any], kind: str, inner: Tree) -> Any:
        value = self.value(inner, names)
        if kind in ("byte", "short", "int", "long") and not isinstance(value, str):
            return int(value)
        if kind in ("float", "double"):
            return np.float32(value) if kind == "float" else float(value)
        return value

    def _item(self, names: dict[str, Any], inner: Tree, place: Tree) -> Any:
        return self.value(inner, names)[self.value(place, names)]

    def _reference(self, names: dict[str, Any], owner: Tree, name: str) -> Any:
        target = self.value(owner, names)
        if name == "new":
            return lambda *arguments: list(arguments)
        if isinstance(target, Symbol):
            if target.name == self.java_class.name:
                return lambda *arguments: self.call(name, list(arguments))
            return lambda first, *rest: self._invoke(first, name, list(rest))
        return lambda *arguments: self._invoke(target, name, list(arguments))

    def _member(self, names: dict[str, Any], owner: Tree, name: str) -> Any:
        return self._member_of(self.value(owner, names), name)

    def _member_of(self, target: Any, name: str) -> Any:
        if not isinstance(target, Symbol):
            return len(target) if name == "length" else getattr(target, name)
        if target.name == "Expressions" and name.isupper():
            return _table_constant(name)
        if name in KINDS and target.name == "RowKind":
            return KINDS[name]
        constants = {"MAX_VALUE": 2**31 - 1, "MIN_VALUE": -(2**31)}
        if target.name == "Integer":
            return constants[name]
        if target.name == "Long":
            return {"MAX_VALUE": 2**63 - 1, "MIN_VALUE": -(2**63)}[name]
        if target.name == "BigDecimal":
            return Decimal({"ONE": 1, "ZERO": 0, "TEN": 10}[name])
        if target.name.endswith(("Options", "Factory")) and self.checkout is not None:
            keys = self.checkout.option_keys(target.name)
            if name in keys:
                return Symbol(keys[name])
        if target.name == self.java_class.name and name in self.java_class.fields:
            return self.field(name)
        other = self.other(target.name) if name != "class" else None
        if other is not None and name in other.java_class.fields:
            return other.field(name)
        return Symbol(target.name if name == "class" else name)

    def _new(self, names: dict[str, Any], name: str, arguments: list[Tree]) -> Any:
        values = [self.value(each, names) for each in arguments]
        if name == "BigDecimal":
            return Decimal(str(values[0]))
        if name in TWINS:
            return TWINS[name]()
        if name in ("HashMap", "LinkedHashMap", "TreeMap"):
            return dict(values[0]) if values else {}
        if name in ("ArrayList", "HashSet"):
            return list(values[0]) if values else []
        raise NotRead(f"new {name}")

    def _anonymous(self, names: dict[str, Any], made: Tree, body: Any) -> Any:
        raise NotRead(f"an anonymous class of {made[1]}")

    def _call(self, names: dict[str, Any], owner: Tree | None, name: str, given: list[Tree]) -> Any:
        arguments = [self.value(each, names) for each in given]
        if owner is not None:
            return self._invoke(self.value(owner, names), name, arguments)
        if name in self.java_class.methods:
            return self.call(name, arguments)
        home = self.java_class.static_imports.get(name)
        if home is not None:
            return self._invoke(Symbol(home), name, arguments)
        raise NotRead(f"the function {name}")

    def _invoke(self, target: Any, name: str, arguments: list[Any]) -> Any:
        if isinstance(target, Symbol):
            return self._invoke_static(target, name, arguments)
        if name in OPERATORS and type(target).__name__ == "Expression":
            return getattr(operator, OPERATORS[name])(target, *arguments)
        own = METHODS.get((type(target), name))
        if own is not None:
            return own(target, *arguments)
        if name == "window" and type(arguments[0]).__name__.startswith("Over"):
            return target.over_window(*arguments)
        if isinstance(target, (Program, TableStep, ModeBuilder)):
            return getattr(target, name)(*arguments)
        if callable(target) and name in ("apply", "get"):
            return target(*arguments)
        if isinstance(target, list) and name in ("stream", "boxed", "toArray", "collect"):
            return target
        method = getattr(target, snake(name), None)
        if method is None:
            raise NotRead(f"{type(target).__name__}.{name}")
        return method(*arguments) if callable(method) else method

    def _invoke_static(self, target: Symbol, name: str, arguments: list[Any]) -> Any:
        made = STATIC.get((target.name, name)) or STATIC.get((target.name, "*"))
        if made is not None:
            return made(*arguments)
        if name in ("toString", "name", "key"):
            return target.name
        if name == "valueOf":
            return Symbol(str(arguments[0]))
        if target.name == self.java_class.name and name in self.java_class.methods:
            return self.call(name, arguments)
        other = self.other(target.name)
        if other is not None and name in other.java_class.methods:
            return other.call(name, arguments)
        return _table_api(target.name, name, arguments)


def _table_constant(name: str) -> Any:
    import headrace.table.expressions as expressions

    if not hasattr(expressions, name):
        raise NotRead(f"Expressions.{name}")
    return getattr(expressions, name)


def _table_api(owner: str, name: str, arguments: list[Any]) -> Any:
    import headrace.table.expressions as expressions
    from headrace.table import DataTypes
    from headrace.table.window import Over, Session, Slide, Tumble

    if owner == "Expressions":
        made = {"$": "col", "ifThenElse": "if_then_else"}.get(name, snake(name))
        if not hasattr(expressions, made):
            raise NotRead(f"Expressions.{name}")
        return getattr(expressions, made)(*arguments)
    windows = {"Over": Over, "Session": Session, "Slide": Slide, "Tumble": Tumble}
    if owner in windows:
        return getattr(windows[owner], snake(name))(*arguments)
    if owner == "DataTypes":
        if name == "ROW":
            return DataTypes.ROW(list(arguments))
        return getattr(DataTypes, name)(*arguments)
    raise NotRead(f"{owner}.{name}")


def _bound(method: JavaMethod, arguments: list[Any]) -> dict[str, Any]:
    names = method.parameters
    if method.variadic:
        rest = arguments[len(names) - 1 :]
        if len(rest) == 1 and isinstance(rest[0], list):
            rest = rest[0]
        return dict(zip(names, [*arguments[: len(names) - 1], rest], strict=True))
    return dict(zip(names, arguments, strict=True))


def snake(name: str) -> str:
    """PyFlink's name of a method of Java."""
    return {"as": "alias", "in": "in_", "and": "and_", "or": "or_", "not": "not_"}.get(
        name, re.sub(r"(?<=[a-z0-9])([A-Z])", lambda m: "_" + m.group(1).lower(), name)
    )


def java_string(value: Any) -> str:
    """``String.valueOf``."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return value.name if isinstance(value, Symbol) else str(value)


def java_format(template: str, *values: Any) -> str:
    """``String.format`` with %s, %d and numbered places."""
    rest = iter(flat(values))
    flat_values = flat(values)

    form = re.compile(r"%(\d+\$)?(%|n|[-0-9.]*[sdf])")
    return form.sub(lambda match: _format_one(match, rest, flat_values), template)


def _format_one(match: re.Match[str], rest: Any, values: list[Any]) -> str:
    number, form = match.groups()
    if form in ("%", "n"):
        return "%" if form == "%" else "\n"
    value = values[int(number[:-1]) - 1] if number else next(rest)
    return java_string(value) if form == "s" else f"%{form}" % value


def _local_date_time(*parts: int) -> dt.datetime:
    year, month, day, *rest = parts
    hour, minute, second, nanos = (*rest, 0, 0, 0, 0)[:4]
    return dt.datetime(year, month, day, hour, minute, second, nanos // 1000)


def _instant(millis: int) -> dt.datetime:
    return (EPOCH + dt.timedelta(milliseconds=millis)).replace(tzinfo=dt.UTC)


def _map_of(*items: Any) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))


def _row_of_kind(kind: int, *cells: Any) -> JavaRow:
    return JavaRow(list(cells), kind)


OPERATORS = {
    "isEqual": "eq",
    "isNotEqual": "ne",
    "isGreater": "gt",
    "isGreaterOrEqual": "ge",
    "isLess": "lt",
    "isLessOrEqual": "le",
    "plus": "add",
    "minus": "sub",
    "times": "mul",
    "dividedBy": "truediv",
    "mod": "mod",
    "and": "and_",
    "or": "or_",
}
ALL, UPSERT = (0, 1, 2, 3), (0, 2, 3)

STATIC: dict[tuple[str, str], Any] = {
    ("Row", "of"): lambda *cells: JavaRow(list(cells)),
    ("Row", "ofKind"): _row_of_kind,
    ("TableTestProgram", "of"): Program,
    ("SourceTestStep", "newBuilder"): TableStep,
    ("SinkTestStep", "newBuilder"): TableStep,
    ("String", "format"): java_format,
    ("String", "join"): lambda sign, *parts: sign.join(flat(parts)),
    ("String", "valueOf"): java_string,
    ("Collections", "singletonMap"): lambda key, value: {key: value},
    ("Collections", "singletonList"): lambda value: [value],
    ("Collections", "emptyList"): list,
    ("Collections", "emptyMap"): dict,
    ("Arrays", "asList"): lambda *items: flat(items),
    ("Arrays", "stream"): lambda items: items,
    ("List", "of"): lambda *items: list(items),
    ("Stream", "of"): lambda *items: flat(items),
    ("Stream", "concat"): lambda first, second: [*first, *second],
    ("IntStream", "range"): lambda first, last: list(range(first, last)),
    ("IntStream", "rangeClosed"): lambda first, last: list(range(first, last + 1)),
    ("Map", "of"): _map_of,
    ("Map", "entry"): lambda key, value: (key, value),
    ("LocalDateTime", "of"): _local_date_time,
    ("LocalDateTime", "parse"): dt.datetime.fromisoformat,
    ("DateTimeUtils", "toLocalDateTime"): lambda millis: EPOCH + dt.timedelta(milliseconds=millis),
    ("LocalDate", "of"): dt.date,
    ("LocalDate", "parse"): dt.date.fromisoformat,
    ("LocalTime", "of"): dt.time,
    ("Instant", "ofEpochMilli"): _instant,
    ("Instant", "ofEpochSecond"): lambda seconds: _instant(seconds * 1000),
    ("Instant", "parse"): dt.datetime.fromisoformat,
    ("Duration", "ofSeconds"): lambda seconds: dt.timedelta(seconds=seconds),
    ("Duration", "ofMillis"): lambda millis: dt.timedelta(milliseconds=millis),
    ("BigDecimal", "valueOf"): lambda value: Decimal(str(value)),
    ("Long", "valueOf"): int,
    ("Integer", "valueOf"): int,
    ("Double", "valueOf"): float,
    ("Collectors", "*"): lambda *_: None,
    ("ChangelogMode", "all"): lambda: JavaMode(ALL),
    ("ChangelogMode", "insertOnly"): lambda: JavaMode((0,)),
    ("ChangelogMode", "upsert"): lambda by_key=True: JavaMode(UPSERT, by_key),
    ("ChangelogMode", "newBuilder"): lambda: ModeBuilder([]),
    ("TableDistribution", "*"): lambda *_: Symbol("distribution"),
    ("InsertConflictStrategy", "*"): lambda *_: Symbol("conflict"),
    ("ZoneId", "of"): lambda name: name,
    ("Duration", "ofHours"): lambda hours: dt.timedelta(hours=hours),
    ("Duration", "ofMinutes"): lambda minutes: dt.timedelta(minutes=minutes),
    ("Function", "identity"): lambda: lambda value: value,
}
METHODS: dict[tuple[type, str], Any] = {
    (list, "map"): lambda items, function: [function(item) for item in items],
    (list, "mapToObj"): lambda items, function: [function(item) for item in items],
    (list, "filter"): lambda items, function: [item for item in items if function(item)],
    (list, "toArray"): lambda items, *_: items,
    (list, "collect"): lambda items, *_: items,
    (list, "get"): lambda items, place: items[place],
    (list, "add"): lambda items, item: items.append(item),
    (dict, "put"): lambda items, key, value: items.__setitem__(key, value),
    (dict, "putAll"): lambda items, more: items.update(more),
    (str, "equals"): lambda text, other: text == other,
    (str, "getBytes"): lambda text, *_: text.encode(),
    (str, "replace"): lambda text, old, new: text.replace(old, new),
    (str, "startsWith"): lambda text, start: text.startswith(start),
    (str, "contains"): lambda text, part: part in text,
    (str, "toString"): lambda text: text,
    (dt.datetime, "minusMillis"): lambda value, millis: value - dt.timedelta(milliseconds=millis),
    (dt.datetime, "atZone"): lambda value, *_: value,
    (dt.datetime, "toInstant"): lambda value, *_: value.replace(tzinfo=dt.UTC),
}
