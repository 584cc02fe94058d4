"""What could be meant by the beginning of a word: keywords, tables, columns, functions, options.

    SELECT na|  FROM orders      ──▶   name (column), NATURAL (keyword)

In: the text and the place in it.  Out: completions for cli/sql/prompt.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prompt_toolkit.completion import Completer, Completion

from headrace.common.options import OPTIONS
from headrace.connectors.tables import TABLE_CONNECTORS
from headrace.errors import HeadraceError
from headrace.sql.keywords import RESERVED
from headrace.sql.tokens import TokenKind, tokenize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from headrace.table.table_environment import TableEnvironment

_COMMANDS = ("CLEAR", "EXIT", "HELP", "QUIT", "JOB", "JOBS", "STOP", "IF", "LOAD", "UNLOAD", "ADD")
_KEYWORDS = sorted(RESERVED | {*_COMMANDS, "CATALOG", "DATABASE", "VIEW", "OVERWRITE", "TEMPORARY"})
# behind these stands the name of a table
_BEFORE_TABLES = frozenset(
    {"FROM", "JOIN", "INTO", "OVERWRITE", "DESCRIBE", "DESC", "TABLE", "VIEW"}
)
_WORD = re.compile(r"[\w$]+$")
_OPTION = re.compile(r"^\s*(?:SET|RESET)\s+'([^'=]*)$", re.IGNORECASE)
_VALUE = re.compile(r"^\s*SET\s+'([^']*)'\s*=\s*'([^']*)$", re.IGNORECASE)
_TABLE_OPTION = re.compile(
    r"\bWITH\s*\((?:\s*'[^']*'\s*=\s*'[^']*'\s*,)*\s*'([^'=]*)$", re.IGNORECASE
)
_CONNECTOR = re.compile(r"'connector'\s*=\s*'([^']*)$", re.IGNORECASE)
_NAMED_CONNECTOR = re.compile(r"'connector'\s*=\s*'([^']*)'", re.IGNORECASE)
_VALUES = {
    "headrace.execution.host": ("local", "spark"),
}


class SqlCompleter(Completer):
    """Completes words of statements.

    Args:
        env: whose tables, views and functions are offered.
    """

    def __init__(self, env: TableEnvironment) -> None:
        self._env = env
        self._functions: list[str] | None = None

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        """What fits the word before the cursor."""
        before = document.text_before_cursor.rpartition(";")[2]
        inside = _VALUE.search(before)
        if inside is not None:
            yield from _fitting(_values_of(inside[1]), inside[2], "value")
            return
        inside = _OPTION.search(before)
        if inside is not None:
            yield from _fitting(sorted(OPTIONS), inside[1], "option")
            return
        inside = _TABLE_OPTION.search(before)
        if inside is not None:
            yield from _fitting(_table_options(before), inside[1], "option")
            return
        inside = _CONNECTOR.search(before)
        if inside is not None:
            yield from _fitting(TABLE_CONNECTORS.names(), inside[1], "connector")
            return
        if before.count("'") % 2:
            return  # a text: anything may be meant
        found = _WORD.search(before)
        word = found[0] if found else ""
        if self._wants_table(before, word):
            yield from _fitting(self._tables(), word, "table")
            return
        if not word and not before.endswith("."):
            return
        yield from _fitting(self._columns(document.text), word, "column")
        if before[: len(before) - len(word)].endswith("."):
            return
        yield from _fitting(self._tables(), word, "table")
        yield from _fitting(self._all_functions(), word, "function")
        yield from _fitting(_KEYWORDS, word, "keyword")

    @staticmethod
    def _wants_table(before: str, word: str) -> bool:
        tokens = tokenize(before[: len(before) - len(word)])[:-1]
        return bool(tokens) and tokens[-1].key in _BEFORE_TABLES

    def _tables(self) -> list[str]:
        try:
            return sorted({*self._env.list_tables(), *self._env.list_views()})
        except HeadraceError:  # no catalog, or one that does not answer: nothing to offer
            return []

    def _columns(self, text: str) -> list[str]:
        """The columns of all tables that the statement names, wherever."""
        kinds = (TokenKind.WORD, TokenKind.QUOTED)
        named = {token.value for token in tokenize(text) if token.kind in kinds}
        columns: dict[str, None] = {}
        for table in self._tables():
            if table not in named:
                continue
            try:
                schema = self._env.from_path(f"`{table}`").get_schema()
            except HeadraceError:  # its view no longer fits its tables
                continue
            columns |= dict.fromkeys(schema.get_field_names())
        return list(columns)

    def _all_functions(self) -> list[str]:
        builtin = self._functions
        if builtin is None:
            builtin = self._functions = [
                name for name in self._env.list_functions() if _is_name(name)
            ]
        return sorted({*builtin, *self._env.list_user_defined_functions()})


def _table_options(before: str) -> list[str]:
    """What may stand in WITH: the options of the connector that is named there."""
    named = _NAMED_CONNECTOR.search(before)
    if named is None or named[1] not in TABLE_CONNECTORS.names():
        return ["connector"]
    connector = TABLE_CONNECTORS.new(named[1])
    keys = (option.key for option in (*connector.required, *connector.optional))
    return sorted({*keys, *connector.prefixes})


def _is_name(text: str) -> bool:
    return re.fullmatch(r"\w+", text) is not None


def _values_of(key: str) -> Iterable[str]:
    option = OPTIONS.get(key)
    if key in _VALUES:
        return _VALUES[key]
    if option is not None and option.choices:
        return option.choices
    return ("true", "false") if option is not None and option.type == "boolean" else ()


def _fitting(names: Iterable[str], begin: str, kind: str) -> Iterator[Completion]:
    for name in names:
        if name.lower().startswith(begin.lower()):
            yield Completion(name, start_position=-len(begin), display_meta=kind)
