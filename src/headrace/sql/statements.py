"""Statements: what the first words of a text decide.

In: a walk over tokens (stream.py).  Out: nodes of statement_ast.py and ddl_ast.py.
Next: parser.py
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from headrace.sql.alter import AlterParser
from headrace.sql.ddl_ast import (
    AlterStatement,
    CreateMaterializedTable,
    CreateTable,
    NewQueryAction,
)
from headrace.sql.shows import ShowParser
from headrace.sql.statement_ast import (
    AnalyzeTable,
    BeginStatementSet,
    CallStatement,
    ClientCommand,
    CompilePlan,
    DeleteStatement,
    EndStatementSet,
    ExecutePlan,
    ExplainStatement,
    InsertStatement,
    JarStatement,
    LoadModule,
    QueryStatement,
    ResetStatement,
    SetStatement,
    SqlStatement,
    StatementSetStatement,
    StopJob,
    TruncateTable,
    UnloadModule,
    UpdateStatement,
    UseStatement,
)
from headrace.sql.stream import END_OF_STATEMENT
from headrace.sql.tokens import TokenKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.sql.ast import FunctionCall, Identifier, SqlExpression

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")
_Conflict = Literal["ERROR", "NOTHING", "DEDUPLICATE"]
_CONFLICTS: tuple[_Conflict, ...] = ("ERROR", "NOTHING", "DEDUPLICATE")
# Keys and values of SET need no quotes, and then may be anything without spaces.
_UNQUOTED = re.compile(r"\s*([^'\s=;]+)\s*=\s*('(?:[^']|'')*'|[^;\s]+)")
_UNQUOTED_KEY = re.compile(r"\s*([^'\s;]+)")


class StatementParser(AlterParser, ShowParser):
    """The whole grammar."""

    def script(self) -> list[SqlStatement]:
        """All statements of a text; BEGIN STATEMENT SET up to END is one."""
        found: list[SqlStatement] = []
        while True:
            while self.accept(";"):
                pass
            if self.at_end():
                return found
            found.append(self._statement_or_set())
            if not self.at_end() and self.key != ";":
                self.fail(END_OF_STATEMENT)

    def single(self) -> SqlStatement:
        """The one statement of a text; a statement set with its INSERTs counts as one."""
        while self.accept(";"):
            pass
        found = self._begin_alone() or self._statement_or_set()
        while self.accept(";"):
            pass
        self.end()
        return found

    def end(self) -> None:
        """Nothing may follow."""
        if not self.at_end():
            self.fail(END_OF_STATEMENT)

    def _begin_alone(self) -> SqlStatement | None:
        """A client sends BEGIN STATEMENT SET and what follows one by one."""
        behind = self.key_at(3)
        ends = self.tokens[-1 if behind != ";" else self.index + 4]
        if not self.at("BEGIN", "STATEMENT", "SET") or len(self.tokens) - self.index > 5:
            return None
        if behind and ends.kind is not TokenKind.END:
            return None
        first = self.index
        self.index += 3
        return BeginStatementSet(position=self.since(first))

    def _statement_or_set(self) -> SqlStatement:
        first = self.index
        if not self.accept("BEGIN", "STATEMENT", "SET"):
            return self.statement()
        self.expect(";")
        inserts = self._inserts()
        self.expect("END")
        return StatementSetStatement(inserts, position=self.since(first))

    def statement(self) -> SqlStatement:
        """One statement, without the semicolon behind it."""
        key = self.key
        read = _STATEMENTS.get(key)
        if read is not None:
            return read(self)
        if key == "(" or key in {"SELECT", "VALUES", "VALUE", "WITH", "TABLE"}:
            return self._query_statement()
        self.expect_one(("SELECT", "WITH", "VALUES", *_STATEMENTS))
        raise AssertionError(key)

    # --- queries and INSERT --------------------------------------------------------------------

    def _query_statement(self) -> QueryStatement:
        first = self.index
        return QueryStatement(self.query(), position=self.since(first))

    def insert(self) -> InsertStatement:
        """INSERT INTO or OVERWRITE."""
        first = self.index
        if self.key == "UPSERT":
            self.fail("INSERT")
        self.expect("INSERT")
        overwrite = self.expect_one(("INTO", "OVERWRITE")) == "OVERWRITE"
        if self.key == "TABLE":
            self.refuse("INSERT takes the table's name at once", "leave TABLE out")
        table = self.identifier("the name of a table")
        hints = self.hints()
        partition = self.partition_spec() if self.accept("PARTITION") else ()
        columns = self._insert_columns()
        query = self.query()
        conflict = self._on_conflict()
        return InsertStatement(
            table, query, columns, partition, overwrite, hints, conflict,
            position=self.since(first),
        )  # fmt: skip

    def _insert_columns(self) -> tuple[Identifier, ...] | None:
        """``(a, b)`` behind the table; a query may begin with a parenthesis, too."""
        behind = self.key_at(1)
        if self.key != "(" or behind in {"SELECT", "VALUES", "VALUE", "WITH", "TABLE", "("}:
            return None
        if self.accept("(", ")"):
            return None
        return self.parenthesized(lambda: self.identifier("the name of a column"))

    def _on_conflict(self) -> _Conflict | None:
        if not self.accept("ON", "CONFLICT"):
            return None
        self.expect("DO")
        found = self.expect_one(_CONFLICTS)
        return next(name for name in _CONFLICTS if name == found)

    def _inserts(self) -> tuple[InsertStatement, ...]:
        found: list[InsertStatement] = []
        while not found or self.key != "END":
            found.append(self.insert())
            self.expect(";")
            while self.accept(";"):
                pass
        return tuple(found)

    def _statement_set(self) -> StatementSetStatement:
        first = self.index
        self.expect("STATEMENT", "SET", "BEGIN")
        inserts = self._inserts()
        self.expect("END")
        return StatementSetStatement(inserts, position=self.since(first))

    def _insert_or_set(self) -> InsertStatement | StatementSetStatement:
        return self._statement_set() if self.key == "STATEMENT" else self.insert()

    def _execute(self) -> SqlStatement:
        first = self.index
        self.index += 1
        if self.accept("PLAN"):
            path = self.string("a path in single quotes")
            return ExecutePlan(path, position=self.since(first))
        read = self._insert_or_set if self.key in {"STATEMENT", "INSERT"} else self._query_statement
        return replace(read(), position=self.since(first))

    def _begin(self) -> SqlStatement:
        return self.fail("EXECUTE STATEMENT SET BEGIN")

    def _end(self) -> EndStatementSet:
        first = self.index
        self.index += 1
        return EndStatementSet(position=self.since(first))

    def _compile(self) -> CompilePlan:
        first = self.index
        self.index += 1
        execute = self.accept("AND", "EXECUTE")
        self.expect("PLAN")
        path = self.string("a path in single quotes")
        if_not_exists = self.if_not_exists()
        self.expect("FOR")
        statement = self._insert_or_set()
        return CompilePlan(path, statement, execute, if_not_exists, position=self.since(first))

    def _explain(self) -> ExplainStatement:
        first = self.index
        self.index += 1
        details: list[str] = []
        if not self.accept("PLAN", "FOR"):
            details = self._details()
        if self.key in {"ANALYZE", "VERBOSE", "EXTENDED", "FORMATTED", "COST", "CODEGEN"}:
            self.refuse(
                f"EXPLAIN has no {self.key}", "write EXPLAIN CHANGELOG_MODE, or EXPLAIN alone"
            )
        statement = self._explained()
        return ExplainStatement(statement, tuple(details), position=self.since(first))

    def _details(self) -> list[str]:
        found: list[str] = []
        if self.key not in _DETAILS:
            return found
        found.append(self.expect_one(_DETAILS))
        while self.accept(","):
            place = self.here()
            detail = self.expect_one(_DETAILS)
            if detail in found:
                self.refuse(f"{detail} is asked for twice", "leave one out", position=place)
            found.append(detail)
        return found

    def _explained(self) -> SqlStatement:
        place = self.here()
        if self.key == "STATEMENT":
            return self._statement_set()
        if self.key == "EXECUTE":
            return self._execute()
        statement = self.statement()
        if not _can_be_explained(statement):
            self.refuse(
                "only queries, INSERT, statement sets and CREATE TABLE AS can be explained",
                "write EXPLAIN in front of one of them",
                position=place,
            )
        return statement

    # --- changes of data -----------------------------------------------------------------------

    def _delete(self) -> DeleteStatement:
        first = self.index
        self.index += 1
        self.expect("FROM")
        table = self.identifier("the name of a table")
        alias = self._alias()
        where = self.expression() if self.accept("WHERE") else None
        return DeleteStatement(table, where, alias, position=self.since(first))

    def _update(self) -> UpdateStatement:
        first = self.index
        self.index += 1
        table = self.identifier("the name of a table")
        alias = self._alias()
        self.expect("SET")
        assignments = self.comma_list(self._assignment)
        where = self.expression() if self.accept("WHERE") else None
        return UpdateStatement(table, assignments, where, alias, position=self.since(first))

    def _alias(self) -> str | None:
        if self.accept("AS"):
            return self.name("a name behind AS")
        return self.advance().value if self.at_name() else None

    def _assignment(self) -> tuple[Identifier, SqlExpression]:
        column = self.identifier("the name of a column")
        self.expect("=")
        return column, self.expression()

    def _truncate(self) -> TruncateTable:
        first = self.index
        self.index += 1
        self.expect("TABLE")
        return TruncateTable(self.identifier("the name of a table"), position=self.since(first))

    def _analyze(self) -> AnalyzeTable:
        first = self.index
        self.index += 1
        self.expect("TABLE")
        name = self.identifier("the name of a table")
        partition = self.partition_spec(values=False) if self.accept("PARTITION") else ()
        self.expect("COMPUTE", "STATISTICS")
        columns: tuple[str, ...] = ()
        every = False
        if self.accept("FOR"):
            every = self.accept("ALL")
            self.expect("COLUMNS")
            columns = () if every else self.comma_list(self.name)
        return AnalyzeTable(name, partition, columns, every, position=self.since(first))

    # --- sessions, modules, jobs ---------------------------------------------------------------

    def _use(self) -> UseStatement:
        first = self.index
        self.index += 1
        kind: Literal["DATABASE", "CATALOG", "MODULES"] = "DATABASE"
        names: tuple[Identifier, ...]
        if self.accept("CATALOG"):
            kind, names = "CATALOG", (self.identifier("the name of a catalog"),)
        elif self.accept("MODULES"):
            kind = "MODULES"
            names = self.comma_list(lambda: self.identifier("the name of a module"))
        else:
            names = (self.identifier("the name of a database"),)
        return UseStatement(kind, names, position=self.since(first))

    def _set_statement(self) -> SetStatement:
        first = self.index
        self.index += 1
        if self.at_end() or self.key == ";":
            return SetStatement(position=self.since(first))
        if self.at_string():
            key = self.string()
            self.expect("=")
            value = self.string("a value in single quotes")
            return SetStatement(key, value, position=self.since(first))
        found = _UNQUOTED.match(self.text, self.tokens[first].end)
        if found is None:
            self.fail("key = 'value'")
        self._skip_to(found.end())
        value = found[2]
        if value.startswith("'"):
            value = value[1:-1].replace("''", "'")
        return SetStatement(found[1], value, position=self.since(first))

    def _reset(self) -> ResetStatement:
        first = self.index
        self.index += 1
        if self.at_end() or self.key == ";":
            return ResetStatement(position=self.since(first))
        if self.at_string():
            return ResetStatement(self.string(), position=self.since(first))
        found = _UNQUOTED_KEY.match(self.text, self.tokens[first].end)
        assert found is not None
        self._skip_to(found.end())
        return ResetStatement(found[1], position=self.since(first))

    def _skip_to(self, offset: int) -> None:
        """Goes on behind a piece of text that was read without tokens."""
        while not self.at_end() and self.token.start < offset:
            self.index += 1

    def _load(self) -> LoadModule:
        first = self.index
        self.index += 1
        self.expect("MODULE")
        name = self.name("the name of a module")
        return LoadModule(name, self.with_options(), position=self.since(first))

    def _unload(self) -> UnloadModule:
        first = self.index
        self.index += 1
        self.expect("MODULE")
        return UnloadModule(self.name("the name of a module"), position=self.since(first))

    def _jar(self) -> JarStatement:
        first = self.index
        action: Literal["ADD", "REMOVE"] = "ADD" if self.advance().key == "ADD" else "REMOVE"
        self.expect("JAR")
        path = self.string("a path in single quotes")
        return JarStatement(action, path, position=self.since(first))

    def _stop(self) -> StopJob:
        first = self.index
        self.index += 1
        self.expect("JOB")
        job = self.string("the job's id in single quotes")
        savepoint = self.accept("WITH", "SAVEPOINT")
        place = self.here()
        drain = self.accept("WITH", "DRAIN")
        if drain and not savepoint:
            self.refuse(
                "WITH DRAIN needs a savepoint", "write WITH SAVEPOINT WITH DRAIN", position=place
            )
        return StopJob(job, savepoint, drain, position=self.since(first))

    def _call(self) -> CallStatement:
        first = self.index
        self.index += 1
        start = self.index
        name = self.identifier("the name of a procedure")
        if self.key != "(":
            self.fail("(")
        call: FunctionCall = self.call(name.parts, start)
        return CallStatement(call, position=self.since(first))

    def _client(self) -> ClientCommand:
        first = self.index
        word = self.advance().key
        names: dict[str, Literal["QUIT", "CLEAR", "HELP"]] = {"CLEAR": "CLEAR", "HELP": "HELP"}
        return ClientCommand(names.get(word, "QUIT"), position=self.since(first))


def _can_be_explained(statement: SqlStatement) -> bool:
    match statement:
        case QueryStatement() | InsertStatement() | CreateMaterializedTable():
            return True
        case CreateTable():
            return statement.query is not None
        case AlterStatement():
            return isinstance(statement.action, NewQueryAction)
        case _:
            return False


_STATEMENTS: dict[str, Callable[[StatementParser], SqlStatement]] = {
    "INSERT": StatementParser.insert,
    "UPSERT": StatementParser.insert,
    "CREATE": StatementParser.create,
    "REPLACE": StatementParser.replace_table,
    "ALTER": StatementParser.alter,
    "DROP": StatementParser.drop,
    "EXPLAIN": StatementParser._explain,
    "DESCRIBE": StatementParser.describe,
    "DESC": StatementParser.describe,
    "SHOW": StatementParser.show,
    "USE": StatementParser._use,
    "SET": StatementParser._set_statement,
    "RESET": StatementParser._reset,
    "EXECUTE": StatementParser._execute,
    "BEGIN": StatementParser._begin,
    "END": StatementParser._end,
    "COMPILE": StatementParser._compile,
    "LOAD": StatementParser._load,
    "UNLOAD": StatementParser._unload,
    "ADD": StatementParser._jar,
    "REMOVE": StatementParser._jar,
    "ANALYZE": StatementParser._analyze,
    "TRUNCATE": StatementParser._truncate,
    "DELETE": StatementParser._delete,
    "UPDATE": StatementParser._update,
    "STOP": StatementParser._stop,
    "CALL": StatementParser._call,
    "QUIT": StatementParser._client,
    "EXIT": StatementParser._client,
    "CLEAR": StatementParser._client,
    "HELP": StatementParser._client,
}
