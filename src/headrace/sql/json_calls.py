"""JSON functions of the standard with their clauses.

    JSON_VALUE(doc, '$.a' RETURNING INT DEFAULT 0 ON EMPTY)      JSON_OBJECT(KEY 'a' VALUE 1)

In: a walk over tokens (stream.py).  Out: `FunctionCall` with `JsonClauses` (ast.py).
Next: expressions.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from headrace.sql.ast import (
    FunctionCall,
    JsonBehavior,
    JsonClauses,
    JsonEntry,
    SqlExpression,
    TypeName,
)
from headrace.sql.calls import CallParser

_EXISTS_KINDS = frozenset({"TRUE", "FALSE", "UNKNOWN", "ERROR"})


class JsonCallParser(CallParser):
    """The part of the grammar that reads JSON functions."""

    def json_exists(self) -> FunctionCall:
        """``JSON_EXISTS(doc, path [TRUE|FALSE|UNKNOWN|ERROR ON ERROR])``."""
        first = self.index
        arguments = self._document_and_path()
        place = self.index
        clauses = None
        kind = self.accept_one(_EXISTS_KINDS)
        if kind is not None:
            self.expect("ON", "ERROR")
            clauses = JsonClauses(on_error=JsonBehavior(kind), position=self.since(place))
        self.expect(")")
        return self._json_call("JSON_EXISTS", arguments, clauses, first)

    def json_value(self) -> FunctionCall:
        """``JSON_VALUE(doc, path [RETURNING type] [NULL|ERROR|DEFAULT x ON EMPTY|ERROR])``."""
        first = self.index
        arguments = self._document_and_path()
        place = self.index
        clauses = JsonClauses(returning=self._returning())
        clauses = self._behaviors(clauses, ("NULL", "ERROR", "DEFAULT"))
        return self._close("JSON_VALUE", arguments, clauses, first, place)

    def json_query(self) -> FunctionCall:
        """``JSON_QUERY(doc, path [RETURNING type] [wrapper] [.. ON EMPTY|ERROR])``."""
        first = self.index
        arguments = self._document_and_path()
        place = self.index
        clauses = JsonClauses(returning=self._returning(), wrapper=self._wrapper())
        clauses = self._behaviors(clauses, ("NULL", "ERROR", "EMPTY"))
        return self._close("JSON_QUERY", arguments, clauses, first, place)

    def _close(
        self,
        name: str,
        arguments: tuple[SqlExpression, ...],
        clauses: JsonClauses,
        first: int,
        place: int,
    ) -> FunctionCall:
        found = None
        if clauses != JsonClauses():
            found = replace(clauses, position=self.since(place))
        self.expect(")")
        return self._json_call(name, arguments, found, first)

    def _json_call(
        self,
        name: str,
        arguments: tuple[SqlExpression, ...],
        clauses: JsonClauses | None,
        first: int,
    ) -> FunctionCall:
        return FunctionCall((name,), arguments, json=clauses, position=self.since(first))

    def _document_and_path(self) -> tuple[SqlExpression, ...]:
        self.index += 1
        self.expect("(")
        document = self.expression()
        self.expect(",")
        path = self.expression()
        if self.key == "PASSING":
            self.refuse("Flink has no PASSING in JSON functions", "put the value into the path")
        return (document, path)

    def _returning(self) -> TypeName | None:
        return self.type_of_values() if self.accept("RETURNING") else None

    def _wrapper(self) -> str | None:
        if self.accept("WITHOUT"):
            found = "WITHOUT ARRAY"
        elif self.accept("WITH", "CONDITIONAL"):
            found = "WITH CONDITIONAL ARRAY"
        elif self.accept("WITH"):
            self.accept("UNCONDITIONAL")
            found = "WITH UNCONDITIONAL ARRAY"
        else:
            return None
        self.accept("ARRAY")
        self.expect("WRAPPER")
        return found

    def _behaviors(self, clauses: JsonClauses, kinds: tuple[str, ...]) -> JsonClauses:
        while self.key in kinds:
            place = self.index
            kind = self.expect_one(kinds)
            value = self.expression() if kind == "DEFAULT" else None
            if kind == "EMPTY":
                kind = f"EMPTY {self.expect_one(('ARRAY', 'OBJECT'))}"
            behavior = JsonBehavior(kind, value, position=self.since(place))
            self.expect("ON")
            if self.expect_one(("EMPTY", "ERROR")) == "EMPTY":
                clauses = replace(clauses, on_empty=behavior)
            else:
                clauses = replace(clauses, on_error=behavior)
        return clauses

    # --- construction --------------------------------------------------------------------------

    def json_object(self) -> FunctionCall:
        """``JSON_OBJECT(KEY k VALUE v, .. [NULL|ABSENT ON NULL])``."""
        first = self.index
        self.index += 1
        self.expect("(")
        entries: tuple[SqlExpression, ...] = ()
        if self.key != ")" and not self._at_on_null():
            entries = self.comma_list(self._entry)
        clauses = self._on_null()
        self.expect(")")
        return self._json_call("JSON_OBJECT", entries, clauses, first)

    def json_objectagg(self) -> FunctionCall:
        """``JSON_OBJECTAGG(KEY k VALUE v [NULL|ABSENT ON NULL])``."""
        first = self.index
        self.index += 1
        self.expect("(")
        entry = self._entry()
        clauses = self._on_null()
        self.expect(")")
        call = self._behind(("JSON_OBJECTAGG",), (entry,), first)
        return replace(call, json=clauses)

    def _entry(self) -> JsonEntry:
        first = self.index
        # KEY is no reserved word: `KEY 'a' VALUE 1` has it as a keyword, `key VALUE 1` as a name.
        worded = self.key == "KEY" and self.key_at(1) not in {"VALUE", ":", ",", ".", "["}
        if worded:
            self.index += 1
        key = self.expression()
        if worded:
            self.expect("VALUE")
        else:
            self.expect_one(("VALUE", ":", ","))
        value = self.expression()
        return JsonEntry(key, value, position=self.since(first))

    def json_array(self) -> FunctionCall:
        """``JSON_ARRAY(a, b [NULL|ABSENT ON NULL])``."""
        first = self.index
        self.index += 1
        self.expect("(")
        items: tuple[SqlExpression, ...] = ()
        if self.key != ")" and not self._at_on_null():
            items = self.comma_list(self.expression)
        clauses = self._on_null()
        self.expect(")")
        return self._json_call("JSON_ARRAY", items, clauses, first)

    def json_arrayagg(self) -> FunctionCall:
        """``JSON_ARRAYAGG(x [ORDER BY ..] [NULL|ABSENT ON NULL])``."""
        first = self.index
        self.index += 1
        self.expect("(")
        value = self.expression()
        order_by = self.order_by()
        clauses = self._on_null()
        self.expect(")")
        call = self._behind(("JSON_ARRAYAGG",), (value,), first, order_by=order_by)
        return replace(call, json=clauses)

    def _at_on_null(self) -> bool:
        return self.key in {"NULL", "ABSENT"} and self.key_at(1) == "ON"

    def _on_null(self) -> JsonClauses | None:
        if not self._at_on_null():
            return None
        first = self.index
        kind: Literal["NULL", "ABSENT"] = "NULL" if self.advance().key == "NULL" else "ABSENT"
        self.expect("ON", "NULL")
        return JsonClauses(on_null=kind, position=self.since(first))
