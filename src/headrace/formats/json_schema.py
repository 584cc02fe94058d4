"""JSON schemas to row types, as Flink reads them.

In: a JSON schema (https://json-schema.org), draft 7 or older.  Out: a row type.
Next: json_deserialization.py

A subset: objects, arrays, tuples, scalars, null beside one other type, references within the
document.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace.common.typeinfo import ObjectArrayTypeInfo, RowTypeInfo, Types
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation

__all__ = ["row_type_of"]

_UNIONS = ("allOf", "anyOf", "not", "extends", "disallow")
_FORMATS: dict[str, Callable[[], TypeInformation]] = {
    "date": Types.SQL_DATE,
    "time": Types.SQL_TIME,
    "date-time": Types.SQL_TIMESTAMP,
}


def row_type_of(json_schema: str) -> TypeInformation:
    """The type that a schema describes.

    Raises:
        InvalidArgumentError: the text is no JSON, or it uses what a row type cannot say.
    """
    try:
        document = json.loads(json_schema)
    except (TypeError, ValueError) as error:
        raise _refused(f"the JSON schema cannot be read: {error}") from None
    found = _Reader(document).type_at("<root>", document)
    if found is None:
        raise _refused("the JSON schema describes nothing but null")
    return found


class _Reader:
    """Reads one document; references lead to other parts of it."""

    def __init__(self, document: Any) -> None:
        self._document = document

    def type_at(self, place: str, node: Any) -> TypeInformation | None:
        """The type of a part; None if it allows nothing but null."""
        if not isinstance(node, dict):
            raise _refused(f"{place} is {node!r:.60}, not an object")
        for union in _UNIONS:
            if union in node:
                raise _refused(f"{place} uses {union!r}, and a field has one type only")
        referred = self._referred(place, node)
        found = self._own_types(place, node)
        if "type" not in node and referred is not None and "type" in referred:
            found.append(self.type_at(node["$ref"], referred))
        options = node.get("oneOf", (referred or {}).get("oneOf", []))
        found += [self.type_at(f"{place}/oneOf", option) for option in options]
        if not found:
            raise _refused(f"{place} has no type")
        others = [kind for kind in dict.fromkeys(found) if kind is not None]
        if len(others) > 1:
            raise _refused(f"{place} has several types: {', '.join(map(str, others))}")
        return others[0] if others else None

    def _own_types(self, place: str, node: dict[str, Any]) -> list[TypeInformation | None]:
        names = node.get("type", [])
        return [self._named(place, node, n) for n in ([names] if isinstance(names, str) else names)]

    def _named(self, place: str, node: dict[str, Any], name: str) -> TypeInformation | None:
        if name == "null":
            return None
        if name == "boolean":
            return Types.BOOLEAN()
        if name in ("number", "integer"):
            return Types.BIG_DEC()
        if name == "string":
            return _string(place, node)
        if name == "object":
            return self._object(place, node)
        if name == "array":
            return self._array(place, node)
        raise _refused(f"{place} has the type {name!r}, which JSON schemas do not know")

    def _object(self, place: str, node: dict[str, Any]) -> TypeInformation:
        properties = node.get("properties", {})
        if node.get("additionalProperties") is True and "properties" in node:
            raise _refused(f"{place} allows additional properties, which a row has no place for")
        types = [self._some_type(f"{place}/{name}", part) for name, part in properties.items()]
        return Types.ROW_NAMED(list(properties), types) if types else RowTypeInfo([])

    def _array(self, place: str, node: dict[str, Any]) -> TypeInformation:
        items = node.get("items")
        if isinstance(items, dict):
            return ObjectArrayTypeInfo(self._some_type(f"{place}/items", items))
        if isinstance(items, list) and node.get("additionalItems") is not True:
            return Types.ROW([self._some_type(f"{place}/items", part) for part in items])
        raise _refused(f"{place} is an array of anything; a field has elements of one type")

    def _some_type(self, place: str, node: Any) -> TypeInformation:
        found = self.type_at(place, node)
        if found is None:
            raise _refused(f"{place} allows nothing but null")
        return found

    def _referred(self, place: str, node: dict[str, Any]) -> dict[str, Any] | None:
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return None
        if not reference.startswith("#"):
            raise _refused(f"{place} refers to {reference!r}, which is not in this document")
        found = self._document
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or name not in found:
                raise _refused(f"{place} refers to {reference!r}, which is not there")
            found = found[name]
        if found is node or not isinstance(found, dict) or "$ref" in found:
            raise _refused(f"{place} refers to {reference!r}, which leads no further")
        return found


def _string(place: str, node: dict[str, Any]) -> TypeInformation:
    if "format" in node:
        return _FORMATS.get(node["format"], Types.STRING)()
    encoding = node.get("contentEncoding")
    if encoding is None:
        return Types.STRING()
    if encoding == "base64":
        return Types.PRIMITIVE_ARRAY(Types.BYTE())
    raise _refused(f"{place} is encoded as {encoding!r}; only base64 can be read")


def _refused(what: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        what,
        where="JsonRowDeserializationSchema.builder().json_schema",
        fix="change the schema, or declare the rows with type_info(Types.ROW_NAMED(...))",
    )
