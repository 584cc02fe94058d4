"""From records to actions of the bulk API: PyFlink's emitter, and functions of your own.

In: records.  Out: actions as dicts.  Next: actions.py (checks and encodes them)
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row, RowKind
from headrace.connectors.elasticsearch.actions import preview
from headrace.errors import InvalidArgumentError, TypeMismatchError
from headrace.formats.record_fields import fields_with, has_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Action = dict[str, Any]
    Actions = Action | Iterable[Action] | None

__all__ = ["ElasticsearchEmitter"]

# Other writers of the same document make an update fail, unless the server reads it again.
_RETRY_ON_CONFLICT = 3


class ElasticsearchEmitter:
    """Says what becomes of a record; make one with `static_index`, `dynamic_index`, `actions`.

    Documents are the fields of dicts, rows, named tuples and dataclasses. Rows of kind DELETE
    delete the document of their key, and UPDATE_BEFORE is ignored.

    Example:
        >>> ElasticsearchEmitter.static_index("orders", key_field="id")
        ElasticsearchEmitter.static_index('orders', key_field='id')
    """

    def __init__(self, emit: _FieldsToActions | _FunctionToActions) -> None:
        self._emit = emit

    @staticmethod
    def static_index(
        index: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """All records go to one index.

        With a key, a record is merged into the document of that id, which is made if it is not
        there: a batch that is repeated changes nothing. Without one the server makes an id for
        every record it gets: after a failure, documents may be there twice.

        Args:
            index: the index.
            key_field: the field whose value is the document's id.
            doc_type: the type of the documents; only Elasticsearch 6 and 7 have types.
        """
        return ElasticsearchEmitter(
            _FieldsToActions("static_index", _name(index, "index"), key_field, doc_type)
        )

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """Each record names its index.

        Args:
            index_field: the field whose value is the index; it is part of the document too.
            key_field: see `static_index`.
            doc_type: see `static_index`.
        """
        field = _name(index_field, "index_field")
        return ElasticsearchEmitter(_FieldsToActions("dynamic_index", field, key_field, doc_type))

    @staticmethod
    def actions(function: Callable[[Any], Actions]) -> ElasticsearchEmitter:
        """A function of your own makes the actions: index, create, update, delete.

        Coming from Flink: this is headrace's own; in Java it would be an ElasticsearchEmitter.

        Args:
            function: from a record to an action, several, or None for none. Actions are dicts as
                Elasticsearch's Python helpers take them: ``_op_type`` (``index`` by default),
                ``_index``, ``_id``, ``_source``; for updates ``doc``, ``doc_as_upsert``, ``script``
                and ``upsert``; ``routing``, ``pipeline``, ``version`` and ``version_type``. It
                sees rows of every kind. An update whose script adds up is applied again when a
                batch is repeated.

        Example:
            >>> ElasticsearchEmitter.actions(
            ...     lambda order: {"_index": "orders", "_id": order["id"], "_source": order}
            ... )
            ElasticsearchEmitter.actions(<lambda>)
        """
        if not callable(function):
            raise InvalidArgumentError(
                f"{function!r} ({type(function).__name__}) is no function",
                where="ElasticsearchEmitter.actions",
                fix='pass a function: lambda r: {"_index": "orders", "_source": r}',
            )
        return ElasticsearchEmitter(_FunctionToActions(function))

    def opened(self, names: list[str] | None, where: str) -> Callable[[Any], list[Action]]:
        """The emitter at work, in a worker.

        Args:
            names: names of the fields for records that have none of their own.
            where: the sink, for errors.
        """
        return self._emit.opened(names, where)

    def __repr__(self) -> str:
        return f"ElasticsearchEmitter.{self._emit.describe()}"


@dataclass(frozen=True, slots=True)
class _FieldsToActions:
    """A document is the fields of a record."""

    maker: str
    index: str
    key_field: str | None
    doc_type: str | None

    def describe(self) -> str:
        key = "" if self.key_field is None else f", key_field={self.key_field!r}"
        return f"{self.maker}({self.index!r}{key})"

    def opened(self, names: list[str] | None, where: str) -> Callable[[Any], list[Action]]:
        fields_of = fields_with(names)
        dynamic, key_field = self.maker == "dynamic_index", self.key_field
        typed = {} if self.doc_type is None else {"_type": self.doc_type}

        def emit(record: Any) -> list[Action]:
            if not has_fields(record):
                raise _misfit(f"the record {preview(record)} has no fields", where)
            document = fields_of(record)
            kind = record.get_row_kind() if isinstance(record, Row) else RowKind.INSERT
            if kind is RowKind.UPDATE_BEFORE:  # the UPDATE_AFTER that follows says all
                return []
            index = str(_field(document, self.index, where)) if dynamic else self.index
            place = {"_index": index, **typed}
            if key_field is None:
                if kind is not RowKind.INSERT:
                    raise _takes_back(record, where)
                return [{**place, "_source": document}]
            place["_id"] = str(_field(document, key_field, where))
            if kind is RowKind.DELETE:
                return [{"_op_type": "delete", **place}]
            merge = {"doc": document, "doc_as_upsert": True}
            return [
                {"_op_type": "update", **place, "retry_on_conflict": _RETRY_ON_CONFLICT, **merge}
            ]

        return emit


@dataclass(frozen=True, slots=True)
class _FunctionToActions:
    function: Callable[[Any], Actions]

    def describe(self) -> str:
        return f"actions({getattr(self.function, '__name__', self.function)})"

    def opened(self, names: list[str] | None, where: str) -> Callable[[Any], list[Action]]:
        function = self.function
        return lambda record: listed(function(record))


def listed(actions: Actions) -> list[Action]:
    """None, one action or several, as a list."""
    if actions is None:
        return []
    # What is neither is refused when it is encoded.
    if isinstance(actions, dict | str | bytes) or not hasattr(actions, "__iter__"):
        return [actions]  # type: ignore[list-item]
    return list(actions)


def _field(document: dict[str, Any], name: str, where: str) -> Any:
    value = document.get(name)
    if value is not None:
        return value
    if name in document:
        raise _misfit(f"field {name!r} of the record {preview(document)} is None", where)
    close = difflib.get_close_matches(name, document, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise _misfit(f"the record {preview(document)} has no field {name!r}{hint}", where)


def _misfit(message: str, where: str) -> TypeMismatchError:
    return TypeMismatchError(
        message,
        where=where,
        fix="map the records to dicts or rows that have this field, or say what becomes of them "
        "with ElasticsearchEmitter.actions",
    )


def _takes_back(row: Row, where: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"the row {preview(row)} is of kind {row.get_row_kind()}, but without a key its document "
        "cannot be found",
        where=where,
        fix="name a key_field, or filter the kinds first",
    )


def _name(given: Any, argument: str) -> str:
    if not isinstance(given, str) or not given:
        raise InvalidArgumentError(
            f"{argument} is {given!r} ({type(given).__name__}), not a name",
            where="ElasticsearchEmitter",
            fix=f"pass the name as text: {argument}='orders'",
        )
    return given
