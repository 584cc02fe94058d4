"""One action of the bulk API: checked, and encoded as the lines that are sent.

In: an action as a dict, in the form that Elasticsearch's own Python helpers take.
Out: a `BulkAction`.  Next: bulk.py (sends them)
"""

from __future__ import annotations

import decimal
import difflib
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import TypeMismatchError
from headrace.formats.bulk_writers import json_value

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BulkAction", "encode_action"]

# What stands in the first line of an action, beside _index and _id.
_SETTINGS = frozenset(
    {
        *("_type", "routing", "version", "version_type", "if_seq_no", "if_primary_term"),
        *("pipeline", "require_alias", "retry_on_conflict", "dynamic_templates"),
    }
)
_UPDATE_BODY = frozenset(
    {"doc", "doc_as_upsert", "upsert", "script", "scripted_upsert", "detect_noop"}
)
# What stands in the second line; a delete has none.
_BODY = {
    "index": frozenset({"_source"}),
    "create": frozenset({"_source"}),
    "update": _UPDATE_BODY,
    "delete": frozenset[str](),
}
_EXAMPLE = '{"_op_type": "index", "_index": "orders", "_id": order.id, "_source": {...}}'


@dataclass(frozen=True, slots=True)
class BulkAction:
    """An action, ready to be sent.

    Attributes:
        op_type: ``index``, ``create``, ``update`` or ``delete``.
        index: the index it goes to.
        id: the document's id; None when the server makes one.
        lines: what is sent, with the newline at its end.
        conflict_is_done: whether a version conflict says that this, or something newer, is there
            already: so it is when a batch is repeated.
    """

    op_type: str
    index: str
    id: str | None
    lines: bytes
    conflict_is_done: bool

    def document(self) -> Any:
        """What was to be stored, read back from the lines; None for a delete."""
        body = self.lines.partition(b"\n")[2]
        if not body:
            return None
        content = json.loads(body)
        return content.get("doc", content) if self.op_type == "update" else content


def encode_action(action: Mapping[str, Any], where: str) -> BulkAction:
    """Checks and encodes an action.

    Raises:
        TypeMismatchError: it is no action, or has no JSON form.
    """
    if not isinstance(action, dict):
        raise _no_action(action, f"it is of type {type(action).__name__}, not dict", where)
    op_type = action.get("_op_type", "index")
    body_names = _BODY.get(op_type) if isinstance(op_type, str) else None
    if body_names is None:
        raise _no_action(action, f"{op_type!r} is none of {', '.join(_BODY)}", where)
    meta: dict[str, Any] = {}
    body: dict[str, Any] = {}
    for name, value in action.items():
        if name in body_names:
            body[name] = value
        elif name in _SETTINGS or name in ("_index", "_id"):
            meta[name] = value
        elif name != "_op_type":
            raise _no_action(action, _unknown(name, op_type), where)
    index = meta.get("_index")
    if not isinstance(index, str) or not index:
        raise _no_action(action, f"its _index is {index!r}", where)
    if "_id" in meta:
        meta["_id"] = _id_text(action, where)
    elif op_type in ("update", "delete"):
        raise _no_action(action, f"{op_type} needs an _id", where)
    content = _content(op_type, body, action, where)
    lines = _encoded({op_type: meta}, where)
    if content is not None:
        lines += _encoded(content, where)
    done = (op_type == "create" and "_id" in meta) or str(meta.get("version_type")).startswith(
        "external"
    )
    return BulkAction(op_type, index, meta.get("_id"), lines, done)


def _id_text(action: Mapping[str, Any], where: str) -> str:
    given = action["_id"]
    if given is None or given == "" or isinstance(given, bool | bytes | dict | list):
        raise _no_action(
            action, f"its _id is {given!r}; leave _id out if the server shall make ids", where
        )
    return str(given)


def _content(
    op_type: str, body: dict[str, Any], action: Mapping[str, Any], where: str
) -> dict[str, Any] | None:
    if op_type == "delete":
        return None
    if op_type == "update":
        if not body.keys() & {"doc", "script"}:
            raise _no_action(action, "update needs doc or script", where)
        return body
    source = body.get("_source")
    if not isinstance(source, dict):
        raise _no_action(action, f"its _source is {preview(source)}, not a dict", where)
    return source


def _unknown(name: Any, op_type: str) -> str:
    known = {"_op_type", "_index", "_id", *_SETTINGS, *_BODY[op_type]}
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{op_type} has no {name!r}{hint}"


def _no_action(action: Any, why: str, where: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"{preview(action)} is no action of the bulk API: {why}",
        where=where,
        fix=f"return dicts such as {_EXAMPLE}",
    )


def preview(value: Any, limit: int = 200) -> str:
    """A value for an error, cut when it is long."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}..."


def _known_value(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        # As Elasticsearch's own client does: a text would give the field a mapping for texts.
        return float(value)
    return str(value) if isinstance(value, uuid.UUID) else json_value(value)


# Servers refuse NaN and Infinity, which are no JSON.
_encoder = json.JSONEncoder(
    default=_known_value, ensure_ascii=False, allow_nan=False, separators=(",", ":")
)


def _encoded(value: dict[str, Any], where: str) -> bytes:
    try:
        return _encoder.encode(value).encode() + b"\n"
    except TypeMismatchError as error:
        raise TypeMismatchError(
            f"{error.message}, in {preview(value)}", where=where, fix=error.fix
        ) from None
    except (ValueError, TypeError) as error:  # NaN, half of a surrogate pair, keys of odd types
        raise TypeMismatchError(
            f"a document has no JSON form: {error}; it is {preview(value)}",
            where=where,
            fix="convert the fields to text, numbers, lists or dicts before the sink",
        ) from error
