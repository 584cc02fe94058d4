"""Turns what a user passed to key_by into keys, without a Python call per record where possible.

A selector that only picks a field (``lambda r: r[0]``, ``lambda r: r.user``, ``itemgetter(0)``,
``"user"``) is recognised, and its keys are then read from the Arrow column.  Recognition looks at
the function's instructions, never at what it does with a made-up record: a guess could misroute.
"""

from __future__ import annotations

import dis
import operator
import types
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from headrace.runtime.records import Records

_SKIPPED = {"RESUME", "CACHE", "NOP", "COPY_FREE_VARS"}


class Keying:
    """Gives the keys of records; picklable, made once per keyed edge."""

    def __init__(self, selector: Callable[[Any], Any], field: int | str | None = None) -> None:
        self.selector = selector
        self.field = field if field is not None else picked_field(selector)

    def keys(self, records: Records) -> list[Any]:
        """The key of every record, in order."""
        batch = records.batch
        if batch is not None:
            column = self.column(batch)
            if column is not None:
                return _to_list(column)
        return list(map(self.selector, records.values))

    def column(self, batch: pa.RecordBatch) -> pa.Array | None:
        """The column that holds the keys, if the selector only picks a field without nulls."""
        if self.field is None:
            return None
        names = batch.schema.names
        if isinstance(self.field, int):
            # Only columnar records can be subscripted; a list in a "value" column cannot be split.
            if names == ["value"] or not -len(names) <= self.field < len(names):
                return None
            column = batch.column(self.field % len(names))
        elif self.field in names and names != ["value"]:
            column = batch.column(names.index(self.field))
        else:
            return None
        return None if column.null_count else column


def _to_list(column: pa.Array) -> list[Any]:
    import pyarrow as pa

    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        keys: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return keys
    return list(column.to_pylist())


def key_selector(key: Any) -> Callable[[Any], Any]:
    """A function from whatever key_by accepts: a callable, a KeySelector, a field name or index."""
    if isinstance(key, str):
        return operator.attrgetter(key) if key.isidentifier() else operator.itemgetter(key)
    if isinstance(key, int) and not isinstance(key, bool):
        return operator.itemgetter(key)
    get_key = getattr(key, "get_key", None)
    if callable(get_key):
        method: Callable[[Any], Any] = get_key
        return method
    if callable(key):
        function: Callable[[Any], Any] = key
        return function
    raise InvalidArgumentError(
        f"key_by expects a function, a KeySelector, a field name or a field index, not {key!r}",
        fix="for instance key_by(lambda record: record[0]) or key_by('user')",
    )


def picked_field(selector: Any) -> int | str | None:
    """The field that `selector` returns untouched, or None if it does anything else."""
    if isinstance(selector, operator.itemgetter | operator.attrgetter):
        items = selector.__reduce__()[1]
        return items[0] if len(items) == 1 and isinstance(items[0], int | str) else None
    if isinstance(selector, types.FunctionType):
        return _field_in_code(selector.__code__)
    return None


def _field_in_code(code: types.CodeType) -> int | str | None:
    if code.co_argcount != 1 or code.co_flags & 0x2C:  # *args, **kwargs, generators
        return None
    steps = [i for i in dis.get_instructions(code) if i.opname not in _SKIPPED]
    if len(steps) < 3 or not steps[0].opname.startswith("LOAD_FAST"):
        return None
    if not steps[-1].opname.startswith("RETURN_VALUE"):
        return None
    middle = steps[1:-1]
    if len(middle) == 1 and middle[0].opname == "LOAD_ATTR":
        return str(middle[0].argval)
    if len(middle) == 2 and middle[0].opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
        subscript = middle[1].opname == "BINARY_SUBSCR" or middle[1].argrepr == "[]"
        index = middle[0].argval
        if subscript and isinstance(index, int | str) and not isinstance(index, bool):
            return index
    return None
