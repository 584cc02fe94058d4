"""Arrays, maps, rows, JSON and bitmaps of expressions.  Next: table/expressing/aggregates.py"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common import data_types as t
from headrace.sql.api_ast import FieldByIndex, TypedCast
from headrace.sql.ast import (
    FieldAccess,
    FunctionCall,
    IsPredicate,
    ItemAccess,
    JsonBehavior,
    JsonClauses,
)
from headrace.table.expressing.base import (
    ExpressionBase,
    UnaryProperty,
    expression,
    operand,
    written,
)
from headrace.table.expressing.units import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)

if TYPE_CHECKING:
    from headrace.common.data_types import DataType
    from headrace.table.expression import Expression

_NULL_VALUE, _NULL_QUERY = JsonValueOnEmptyOrError.NULL, JsonQueryOnEmptyOrError.NULL
_WRAPPERS = {
    JsonQueryWrapper.WITHOUT_ARRAY: "WITHOUT ARRAY",
    JsonQueryWrapper.CONDITIONAL_ARRAY: "WITH CONDITIONAL ARRAY",
    JsonQueryWrapper.UNCONDITIONAL_ARRAY: "WITH UNCONDITIONAL ARRAY",
}
_STRING = t.DataTypes.STRING()


def _behavior(what: JsonValueOnEmptyOrError, default: ExpressionBase) -> JsonBehavior:
    return JsonBehavior(what.name, default._value if what.name == "DEFAULT" else None)


class ComposedExpressions(ExpressionBase):
    """What arrays, maps and rows can do."""

    cardinality = UnaryProperty("CARDINALITY")
    element = UnaryProperty("ELEMENT")
    map_keys = UnaryProperty("MAP_KEYS", "MAP_KEYS")
    map_values = UnaryProperty("MAP_VALUES", "MAP_VALUES")
    map_entries = UnaryProperty("MAP_ENTRIES", "MAP_ENTRIES")

    @property
    def flatten(self) -> Expression[Any]:
        """All fields of a row, each as a column."""
        return expression(FieldAccess(self._value, "*"), written("flatten", self))

    def get(self, name_or_index: str | int) -> Expression[Any]:
        """A field of a row, by name or by its place from 0."""
        text = f"get({self}, {operand(name_or_index)})"
        if isinstance(name_or_index, int):
            return expression(FieldByIndex(self._value, name_or_index), text)
        return expression(FieldAccess(self._value, name_or_index), text)

    def at(self, index: Any) -> Expression[Any]:
        """An item of an array, from 1, or of a map."""
        key = operand(index)
        return expression(ItemAccess(self._value, key._value), written("at", self, key))

    def array_append(self, addition: Any) -> Expression[Any]:
        """With an item more at the end."""
        return self._call("ARRAY_APPEND", "ARRAY_APPEND", addition)

    def array_contains(self, needle: Any) -> Expression[Any]:
        """Whether it has an item."""
        return self._call("ARRAY_CONTAINS", "ARRAY_CONTAINS", needle)

    def array_distinct(self) -> Expression[Any]:
        """Every item once."""
        return self._call("ARRAY_DISTINCT", "ARRAY_DISTINCT")

    def array_position(self, needle: Any) -> Expression[Any]:
        """Where an item stands first, from 1; 0 if it does not."""
        return self._call("ARRAY_POSITION", "ARRAY_POSITION", needle)

    def array_prepend(self, addition: Any) -> Expression[Any]:
        """With an item more at the beginning."""
        return self._call("ARRAY_PREPEND", "ARRAY_PREPEND", addition)

    def array_remove(self, needle: Any) -> Expression[Any]:
        """Without all items that equal one."""
        return self._call("ARRAY_REMOVE", "ARRAY_REMOVE", needle)

    def array_reverse(self) -> Expression[Any]:
        """The items backwards."""
        return self._call("ARRAY_REVERSE", "ARRAY_REVERSE")

    def array_slice(self, start_offset: Any, end_offset: Any = None) -> Expression[Any]:
        """Some of its items, from one place to another."""
        end = () if end_offset is None else (end_offset,)
        return self._call("ARRAY_SLICE", "ARRAY_SLICE", start_offset, *end)

    def array_sort(self, ascending_order: Any = None, null_first: Any = None) -> Expression[Any]:
        """The items in order."""
        given = [each for each in (ascending_order, null_first) if each is not None]
        if null_first is not None and ascending_order is None:
            given = [True, null_first]
        return self._call("ARRAY_SORT", "ARRAY_SORT", *given)

    def array_union(self, array: Any) -> Expression[Any]:
        """The items of two arrays, every one once."""
        return self._call("ARRAY_UNION", "ARRAY_UNION", array)

    def array_concat(self, *arrays: Any) -> Expression[Any]:
        """The items of several arrays, one behind the other."""
        return self._call("ARRAY_CONCAT", "ARRAY_CONCAT", *arrays)

    def array_max(self) -> Expression[Any]:
        """The largest item."""
        return self._call("ARRAY_MAX", "ARRAY_MAX")

    def array_min(self) -> Expression[Any]:
        """The smallest item."""
        return self._call("ARRAY_MIN", "ARRAY_MIN")

    def array_join(self, delimiter: Any, null_replacement: Any = None) -> Expression[Any]:
        """The items as one text."""
        other = () if null_replacement is None else (null_replacement,)
        return self._call("ARRAY_JOIN", "ARRAY_JOIN", delimiter, *other)

    def array_except(self, array: Any) -> Expression[Any]:
        """The items that another array does not have."""
        return self._call("ARRAY_EXCEPT", "ARRAY_EXCEPT", array)

    def array_intersect(self, array: Any) -> Expression[Any]:
        """The items that another array has, too."""
        return self._call("ARRAY_INTERSECT", "ARRAY_INTERSECT", array)

    def map_union(self, *maps: Any) -> Expression[Any]:
        """The entries of several maps; of equal keys the last one counts."""
        return self._call("MAP_UNION", "MAP_UNION", *maps)

    def object_update(self, *kv: Any) -> Expression[Any]:
        """A structured object with some fields changed."""
        return self._call("OBJECT_UPDATE", "OBJECT_UPDATE", *kv)

    # --- JSON --------------------------------------------------------------------------------

    def is_json(self, json_type: JsonType | None = None) -> Expression[Any]:
        """Whether a text is JSON, of a kind."""
        what = "JSON VALUE" if json_type is None else f"JSON {json_type.name}"
        kinds = [] if json_type is None else [operand(json_type)]
        return expression(IsPredicate(self._value, what), written("IS_JSON", self, *kinds))

    def _json(
        self, name: str, path: str, clauses: JsonClauses, words: list[str]
    ) -> Expression[Any]:
        where = operand(path)
        node = FunctionCall((name,), (self._value, where._value), json=clauses)
        return expression(node, f"{name}({', '.join([str(self), str(where), *words])})")

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression[Any]:
        """Whether something is at a path of a JSON text."""
        if on_error is None:
            return self._json("JSON_EXISTS", path, JsonClauses(), [])
        clauses = JsonClauses(on_error=JsonBehavior(on_error.name))
        return self._json("JSON_EXISTS", path, clauses, [on_error.name])

    def json_value(
        self,
        path: str,
        returning_type: DataType = _STRING,
        on_empty: JsonValueOnEmptyOrError = _NULL_VALUE,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = _NULL_VALUE,
        default_on_error: Any = None,
    ) -> Expression[Any]:
        """A value at a path of a JSON text."""
        empty, error = operand(default_on_empty), operand(default_on_error)
        clauses = JsonClauses(
            on_empty=JsonBehavior(
                on_empty.name, empty._value if on_empty.name == "DEFAULT" else None
            ),
            on_error=JsonBehavior(
                on_error.name, error._value if on_error.name == "DEFAULT" else None
            ),
        )
        words = [str(returning_type), on_empty.name, str(empty), on_error.name, str(error)]
        found = self._json("JSON_VALUE", path, clauses, words)
        if returning_type.nullable() == _STRING:
            return found
        return expression(TypedCast(found._value, returning_type), found._text)

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = _NULL_QUERY,
        on_error: JsonQueryOnEmptyOrError = _NULL_QUERY,
    ) -> Expression[Any]:
        """A part of a JSON text, as JSON."""
        clauses = JsonClauses(
            wrapper=_WRAPPERS[wrapping_behavior],
            on_empty=JsonBehavior(on_empty.name.replace("_", " ")),
            on_error=JsonBehavior(on_error.name.replace("_", " ")),
        )
        words = ["STRING", wrapping_behavior.name, on_empty.name, on_error.name]
        return self._json("JSON_QUERY", path, clauses, words)

    def json_quote(self) -> Expression[Any]:
        """A text as a JSON text."""
        return self._call("JSON_QUOTE", "JSON_QUOTE")

    def json_unquote(self) -> Expression[Any]:
        """A JSON text as plain text."""
        return self._call("JSON_UNQUOTE", "JSON_UNQUOTE")


class BitmapExpressions(ExpressionBase):
    """What bitmaps can do."""

    def bitmap_and(self, bitmap2: Any) -> Expression[Any]:
        """What both have."""
        return self._call("BITMAP_AND", "BITMAP_AND", bitmap2)

    def bitmap_andnot(self, bitmap2: Any) -> Expression[Any]:
        """What this has and the other has not."""
        return self._call("BITMAP_ANDNOT", "BITMAP_ANDNOT", bitmap2)

    def bitmap_and_agg(self) -> Expression[Any]:
        """What all have."""
        return self._call("BITMAP_AND_AGG", "BITMAP_AND_AGG")

    def bitmap_and_cardinality_agg(self) -> Expression[Any]:
        """How many all have."""
        return self._call("BITMAP_AND_CARDINALITY_AGG", "BITMAP_AND_CARDINALITY_AGG")

    def bitmap_build(self) -> Expression[Any]:
        """The bitmap of an array."""
        return self._call("BITMAP_BUILD", "BITMAP_BUILD")

    def bitmap_build_agg(self) -> Expression[Any]:
        """The bitmap of all values."""
        return self._call("BITMAP_BUILD_AGG", "BITMAP_BUILD_AGG")

    def bitmap_build_cardinality_agg(self) -> Expression[Any]:
        """How many different values there are."""
        return self._call("BITMAP_BUILD_CARDINALITY_AGG", "BITMAP_BUILD_CARDINALITY_AGG")

    def bitmap_cardinality(self) -> Expression[Any]:
        """How many it has."""
        return self._call("BITMAP_CARDINALITY", "BITMAP_CARDINALITY")

    def bitmap_from_bytes(self) -> Expression[Any]:
        """The bitmap of bytes."""
        return self._call("BITMAP_FROM_BYTES", "BITMAP_FROM_BYTES")

    def bitmap_or(self, bitmap2: Any) -> Expression[Any]:
        """What either has."""
        return self._call("BITMAP_OR", "BITMAP_OR", bitmap2)

    def bitmap_or_agg(self) -> Expression[Any]:
        """What any has."""
        return self._call("BITMAP_OR_AGG", "BITMAP_OR_AGG")

    def bitmap_or_cardinality_agg(self) -> Expression[Any]:
        """How many any has."""
        return self._call("BITMAP_OR_CARDINALITY_AGG", "BITMAP_OR_CARDINALITY_AGG")

    def bitmap_to_array(self) -> Expression[Any]:
        """Its values as an array."""
        return self._call("BITMAP_TO_ARRAY", "BITMAP_TO_ARRAY")

    def bitmap_to_bytes(self) -> Expression[Any]:
        """It as bytes."""
        return self._call("BITMAP_TO_BYTES", "BITMAP_TO_BYTES")

    def bitmap_to_string(self) -> Expression[Any]:
        """Its values as text."""
        return self._call("BITMAP_TO_STRING", "BITMAP_TO_STRING")

    def bitmap_xor(self, bitmap2: Any) -> Expression[Any]:
        """What one of both has."""
        return self._call("BITMAP_XOR", "BITMAP_XOR", bitmap2)

    def bitmap_xor_agg(self) -> Expression[Any]:
        """What an odd number has."""
        return self._call("BITMAP_XOR_AGG", "BITMAP_XOR_AGG")

    def bitmap_xor_cardinality_agg(self) -> Expression[Any]:
        """How many an odd number has."""
        return self._call("BITMAP_XOR_CARDINALITY_AGG", "BITMAP_XOR_CARDINALITY_AGG")
