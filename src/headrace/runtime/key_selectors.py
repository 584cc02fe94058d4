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

from headrace.common.typeinfo import BasicType, BasicTypeInfo, RowTypeInfo, TupleTypeInfo
from headrace.errors import InvalidArgumentError
from headrace.expr.kernels import BatchEvaluator
from headrace.expr.rows import RowEvaluator
from headrace.runtime.key_groups import hash_column
from headrace.runtime.operators.base import ListCursor, user_code_error

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from headrace.common.typeinfo import TypeInformation
    from headrace.data.records import Records

# Types whose Arrow column holds the very values that records hold.  Rows, decimals, large numbers
# and pickled fields look different in a column, so their keys are read from the records.
_SAME_IN_ARROW = {
    BasicType.BOOLEAN,
    BasicType.BYTE,
    BasicType.SHORT,
    BasicType.INT,
    BasicType.LONG,
    BasicType.FLOAT,
    BasicType.DOUBLE,
    BasicType.STRING,
    BasicType.CHAR,
}
_SKIPPED = {"RESUME", "CACHE", "NOP", "COPY_FREE_VARS"}


class Keying:
    """Gives the keys of records; picklable, made once per keyed edge."""

    # whether every value that records may have is a key, so that none has to be looked at
    takes_all = False

    def __init__(
        self,
        selector: Callable[[Any], Any],
        field: int | str | None = None,
        key_type: TypeInformation | None = None,
    ) -> None:
        self.selector = selector
        self.field = field if field is not None else picked_field(selector)
        # the record is its own key
        self.whole = self.field is None and returns_its_argument(selector)
        # a key that is computed from columns
        self.computed = (
            BatchEvaluator(selector.node) if isinstance(selector, RowEvaluator) else None
        )
        # as declared; recorded with keyed state
        self.key_type = key_type

    def keys(self, records: Records) -> list[Any]:
        """The key of every record, in order."""
        column = self.column(records)
        if column is not None:
            return list(records.values) if self.whole else column_keys(column)
        cursor = ListCursor(records.values)
        try:
            keys = list(map(self.selector, cursor))
        except Exception as error:
            raise user_code_error(error, "the key selector", cursor.current) from error
        # Python hashes no lists, PyFlink takes them as keys: they count as tuples.
        return list(map(_without_lists, keys)) if list in set(map(type, keys)) else keys

    def column(self, records: Records) -> pa.Array | None:
        """The column that holds the keys, if the selector only picks a field without nulls."""
        if records.batch is None or records.codec is None:
            return None
        if self.computed is not None:
            found = self.computed(records)
            return None if found is None or found.null_count else found
        position = self.position(records.codec.type_info)
        if position is None:
            return None
        column = records.batch.column(position)
        return None if column.null_count else column

    def hashes(self, records: Records) -> NDArray[np.uint64] | None:
        """`stable_hash` of every key, if it can be made of columns."""
        column = self.column(records)
        return None if column is None else hash_column(column)

    def position(self, record_type: TypeInformation) -> int | None:
        """Which column of records of a type holds the keys as they are, if there is one."""
        if self.whole:
            return 0 if _is_same_in_arrow(record_type) else None
        return None if self.field is None else field_position(self.field, record_type)


def field_position(field: int | str, record_type: TypeInformation) -> int | None:
    """Which column holds the field as it is; None where the column holds another form of it."""
    if not isinstance(record_type, TupleTypeInfo | RowTypeInfo):
        return None  # one column holds the whole record
    names, types = record_type.get_field_names(), record_type.get_field_types()
    if isinstance(field, int):
        if not -len(types) <= field < len(types):
            return None
        position = field % len(types)
    elif field in names:
        position = names.index(field)
    else:
        return None
    return position if _is_same_in_arrow(types[position]) else None


def _is_same_in_arrow(kind: TypeInformation) -> bool:
    return isinstance(kind, BasicTypeInfo) and kind.basic_type in _SAME_IN_ARROW


def _without_lists(key: Any) -> Any:
    return tuple(map(_without_lists, key)) if isinstance(key, list) else key


def column_keys(column: pa.Array) -> list[Any]:
    """The values of a column as keys."""
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
        f"a key selector is a function, a KeySelector, a field name or a field index, not {key!r}",
        fix="for instance lambda record: record[0], or 'user'",
    )


def picked_field(selector: Any, argument: int = 0, arguments: int = 1) -> int | str | None:
    """The field that `selector` returns untouched, or None if it does anything else.

    Args:
        selector: a function.
        argument: which of its arguments is the record.
        arguments: how many it takes.
    """
    if isinstance(selector, operator.itemgetter | operator.attrgetter):
        items = selector.__reduce__()[1]
        return items[0] if len(items) == 1 and isinstance(items[0], int | str) else None
    if isinstance(selector, types.FunctionType):
        return _field_in_code(selector.__code__, argument, arguments)
    return None


def returns_its_argument(selector: Any) -> bool:
    """Whether a function is ``lambda record: record``."""
    if not isinstance(selector, types.FunctionType):
        return False
    code = selector.__code__
    if code.co_argcount != 1 or code.co_flags & 0x2C:  # *args, **kwargs, generators
        return False
    steps = [i for i in dis.get_instructions(code) if i.opname not in _SKIPPED]
    return (
        len(steps) == 2
        and steps[0].opname.startswith("LOAD_FAST")
        and steps[1].opname.startswith("RETURN_VALUE")
    )


def _field_in_code(code: types.CodeType, argument: int, arguments: int) -> int | str | None:
    if code.co_argcount != arguments or code.co_flags & 0x2C:  # *args, **kwargs, generators
        return None
    steps = [i for i in dis.get_instructions(code) if i.opname not in _SKIPPED]
    if len(steps) < 3 or not steps[0].opname.startswith("LOAD_FAST"):
        return None
    if steps[0].argval != code.co_varnames[argument]:  # another argument, not the record
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
