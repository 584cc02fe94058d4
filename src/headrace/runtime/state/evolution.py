"""State whose declared type has changed since it was written: converts it, or says why not.

    fields added       None, or the default of the dataclass or named tuple
    fields removed     dropped
    numbers widened    byte -> short -> int -> long -> big_int -> big_dec;  whole -> float, double

In: two types as recorded with the state (common/type_json.py).  Out: a function for values, or
StateError.  Next: runtime/state/recorded.py asks when a state is opened
"""

from __future__ import annotations

import decimal
from typing import TYPE_CHECKING, Any

from headrace.common.class_names import class_of_name, default_of_field
from headrace.common.type_json import type_text
from headrace.common.types import Row
from headrace.errors import StateError
from headrace.runtime.pages.large import LargeMap, LargeTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import JsonObject
    from headrace.common.type_json import Json
    from headrace.runtime.pages.table import PagedTable
    from headrace.runtime.state.recorded import Recorded

    Convert = Callable[[Any], Any]

_WHOLE = ("byte", "short", "int", "long", "big_int")
_FLOATS = ("float", "double")
_ARRAYS = ("list", "object_array", "basic_array", "primitive_array")
_AT_ONCE = 20_000


class CannotConvert(Exception):
    """Why values of one type cannot become values of another, and what to do about it."""

    def __init__(self, why: str, fix: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.fix = fix


def converter(old: Json, new: Json) -> Convert | None:
    """The function that makes values of one type values of another; None if they are already.

    Raises:
        CannotConvert: there is none.
    """
    old, new = _inner(old), _inner(new)
    if old == new or new == "pickled":
        return None
    if isinstance(old, str) and isinstance(new, str):
        return _scalar(old, new)
    if isinstance(old, dict) and isinstance(new, dict):
        return _composite(old, new)
    raise _no_way(old, new)


def _inner(form: Json) -> Json:
    while isinstance(form, dict) and "external" in form:
        form = form["external"]
    return form


def _no_way(old: Json, new: Json) -> CannotConvert:
    return CannotConvert(f"{type_text(old)} cannot become {type_text(new)}")


def _scalar(old: str, new: str) -> Convert | None:
    if old in _WHOLE:
        if new in _WHOLE and _WHOLE.index(old) < _WHOLE.index(new):
            return None  # all of them are Python's int
        if new in _FLOATS:
            return _unless_none(float)
        if new == "big_dec":
            return _unless_none(decimal.Decimal)
    if (old, new) in (("float", "double"), ("char", "string")):
        return None
    raise _no_way(old, new)


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


# --- with parts ----------------------------------------------------------------------------------


def _composite(old: JsonObject, new: JsonObject) -> Convert | None:
    if "class" in old or "class" in new:
        return _class(old, new)
    if "names" in old and "names" in new:
        return _named_row(old, new)
    for name in _ARRAYS:
        if name in old:
            if name not in new or old == {"primitive_array": "byte"}:  # which is bytes
                raise _no_way(old, new)
            return _each(_part(old[name], new[name], "items"))
    if "map" in old and "map" in new:
        return _map(*(_part(*pair, "map") for pair in zip(old["map"], new["map"], strict=True)))
    for name, make in (("tuple", tuple), ("row", _like)):
        if name in old and name in new and "names" not in old and "names" not in new:
            return _fields_by_place(old, new, name, make)
    raise _no_way(old, new)


def _part(old: Json, new: Json, name: str) -> Convert | None:
    try:
        return converter(old, new)
    except CannotConvert as error:
        raise CannotConvert(f"{name}: {error.why}", error.fix) from None


def _each(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return _unless_none(lambda items: [convert(item) for item in items])


def _map(key: Convert | None, value: Convert | None) -> Convert | None:
    if key is None and value is None:
        return None
    keys, values = key or _same, value or _same
    return _unless_none(lambda found: {keys(k): values(v) for k, v in found.items()})


def _same(value: Any) -> Any:
    return value


def _like(values: tuple[Any, ...]) -> Row:
    return Row.of_values(values, None)


def _fields_by_place(
    old: JsonObject, new: JsonObject, name: str, make: Callable[[Any], Any]
) -> Convert | None:
    if len(old[name]) != len(new[name]):
        raise CannotConvert(
            f"{type_text(old)} cannot become {type_text(new)}: fields without names cannot be "
            "matched when some are added or removed",
            "use named rows or a dataclass for values whose fields change",
        )
    parts = [
        _part(*pair, f"f{place}")
        for place, pair in enumerate(zip(old[name], new[name], strict=True))
    ]
    if not any(parts):
        return None
    each = [part or _same for part in parts]
    return _unless_none(
        lambda values: make(tuple(part(v) for part, v in zip(each, values, strict=True)))
    )


def _named_row(old: JsonObject, new: JsonObject) -> Convert | None:
    before = dict(zip(old["names"], old["row"], strict=True))
    _check_something_stays(old, new)
    parts = [
        (name, _part(before[name], kind, f"field {name!r}") or _same if name in before else None)
        for name, kind in zip(new["names"], new["row"], strict=True)
    ]
    names = list(new["names"])
    if old["names"] == names and all(part is _same for _, part in parts):
        return None

    def convert(value: Any) -> Row:
        # a row may have been given by place, without names
        known = dict(zip(value._names or old["names"], value, strict=True))
        cells = [None if part is None else part(known.get(name)) for name, part in parts]
        return Row.of_values(tuple(cells), names)

    return _unless_none(convert)


def _check_something_stays(old: JsonObject, new: JsonObject) -> None:
    if not set(old["names"]) & set(new["names"]):
        raise CannotConvert(
            f"{type_text(old)} cannot become {type_text(new)}: no field has kept its name",
            "keep the names of the fields whose values should stay",
        )


def _class(old: JsonObject, new: JsonObject) -> Convert | None:
    if old.get("class") != new.get("class"):
        raise CannotConvert(
            f"{type_text(old)} cannot become {type_text(new)}: they are different classes",
            "keep the class under its old name and module",
        )
    _check_something_stays(old, new)
    before = dict(zip(old["names"], old["types"], strict=True))
    after = dict(zip(new["names"], new["types"], strict=True))
    parts = {
        name: _part(before[name], kind, f"field {name!r}") or _same
        for name, kind in after.items()
        if name in before
    }
    if before.keys() == after.keys() and all(part is _same for part in parts.values()):
        return None
    defaults = {name: _default(new, name) for name in after if name not in before}

    def fields(value: Any) -> JsonObject:
        found = value if isinstance(value, dict) else None
        kept = {
            name: part(getattr(value, name, None) if found is None else found.get(name))
            for name, part in parts.items()
        }
        return {**kept, **{name: make() for name, make in defaults.items()}}

    if new["flavour"] == "typeddict":
        return _unless_none(fields)
    cls = class_of_name(new["class"])
    if new["flavour"] == "namedtuple":
        return _unless_none(lambda value: cls(**fields(value)))

    def instance(value: Any) -> Any:
        made = cls.__new__(cls)  # without __init__, which may do more than set fields
        for name, cell in fields(value).items():
            object.__setattr__(made, name, cell)
        return made

    return _unless_none(instance)


def _default(new: JsonObject, name: str) -> Callable[[], Any]:
    """What a field that is new gets in old values."""
    if new["flavour"] == "typeddict":
        return lambda: None
    make = default_of_field(class_of_name(new["class"]), name)
    if make is None:
        raise CannotConvert(
            f"field {name!r} of {type_text(new)} is new and has no default, which stored values "
            "need",
            f"give {name} a default value",
        )
    return make


# --- a whole state -------------------------------------------------------------------------------


def changed_type(operator: str, state: str, stored: Recorded, declared: Recorded) -> Convert | None:
    """The converter of a state whose recorded type is not the declared one.

    Args:
        operator: uid, for the message.
        state: name, for the message.
        stored: what was recorded.
        declared: what the program says.

    Raises:
        StateError: it cannot be converted; names both types and the way out.
    """
    if stored.ttl != declared.ttl:
        raise StateError(
            f"state {state!r} is stored {'with' if stored.ttl else 'without'} time-to-live, but "
            f"the program declares it {'with' if declared.ttl else 'without'}",
            where=f"operator {operator!r}",
            fix=f"{'enable' if stored.ttl else 'do not enable'} time-to-live for it, or give the "
            "new state another name",
        )
    try:
        if stored.kind != declared.kind:
            raise CannotConvert(f"a {stored.kind} state cannot become a {declared.kind} state")
        _check_keys(stored.key_type, declared.key_type)
        return converter(stored.type, declared.type)
    except CannotConvert as error:
        raise StateError(
            f"state {state!r} of operator {operator!r} is stored as {stored}, but the program "
            f"declares {declared}: {error.why}",
            where=f"operator {operator!r}",
            fix=f"{error.fix or 'declare the stored type again'}; or give the new state another "
            "name, or rewrite it in a savepoint (headrace.state.Savepoint)",
        ) from None


def _check_keys(old: Json | None, new: Json | None) -> None:
    """Keys say where a state lies, so they must stay what they are: an INT may be a LONG."""
    if old in (None, "pickled") or new is None:
        return
    try:
        same = converter(old, new) is None
    except CannotConvert:
        same = False
    if not same:
        raise CannotConvert(
            f"its keys are {type_text(old)}, and those of the stream are {type_text(new)}",
            "key the stream as before",
        )


def convert_table(table: PagedTable, kind: str, convert: Convert, *, expires: bool) -> None:
    """Convert every entry of a table; for lists and maps `convert` takes the whole of one.

    Parts of large ones are converted part by part.
    """
    inner = _beside_time(kind, convert) if expires else convert
    # the keys first: pages may be split by a flush, and then a scan would miss some
    for count, key in enumerate([key for key, _ in table.scan()], 1):
        value = table.get(key)
        if isinstance(table, LargeTable) and type(value) is tuple:
            _convert_parts(table, key, inner)
        elif kind == "broadcast":
            ((new_key, new_value),) = convert({key: value}).items()
            if new_key != key:
                table.remove(key)
            table.put(new_key, new_value)
        else:
            table.put(key, inner(value))
        if count % _AT_ONCE == 0:
            table.flush()
    table.flush()


def _beside_time(kind: str, convert: Convert) -> Convert:
    """For values that stand beside the time they were touched."""
    if kind == "list":
        return lambda items: [(time, convert([item])[0]) for time, item in items]
    if kind == "map":

        def pairs(found: dict[Any, Any]) -> dict[Any, Any]:
            made = {}
            for key, (time, value) in found.items():
                ((new_key, new_value),) = convert({key: value}).items()
                made[new_key] = (time, new_value)
            return made

        return pairs
    return lambda entry: (entry[0], convert(entry[1]))


def _convert_parts(table: LargeTable, key: Any, convert: Convert) -> None:
    parts = table.parts(table.cell(key))
    if isinstance(parts, LargeMap):
        for map_key, value in parts.entries.scan():
            ((new_key, new_value),) = convert({map_key: value}).items()
            if new_key != map_key:
                parts.entries.remove(map_key)
            parts.entries.put(new_key, new_value)
    else:
        for _ in parts.revise(lambda items: (convert(items), ())):
            pass
