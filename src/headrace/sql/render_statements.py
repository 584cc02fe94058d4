"""Statements as text, apart from CREATE and ALTER.

In: nodes of statement_ast.py.  Out: text that parses to an equal node.  Next: render_ddl.py
"""

from __future__ import annotations

from headrace.sql.rendering import (
    listed,
    name_of,
    names_of,
    options_of,
    path_of,
    quoted,
    text_of,
    words,
    writes,
)
from headrace.sql.statement_ast import (
    AnalyzeTable,
    BeginStatementSet,
    CallStatement,
    ClientCommand,
    CompilePlan,
    DeleteStatement,
    DescribeStatement,
    EndStatementSet,
    ExecutePlan,
    ExplainStatement,
    InsertStatement,
    JarStatement,
    LoadModule,
    PartitionSpec,
    QueryStatement,
    ResetStatement,
    SetStatement,
    ShowPattern,
    ShowStatement,
    StatementSetStatement,
    StopJob,
    TruncateTable,
    UnloadModule,
    UpdateStatement,
    UseStatement,
)


def partition_of(spec: PartitionSpec) -> str | None:
    """``PARTITION (a = 1)``."""
    if not spec:
        return None
    parts = (
        name_of(name) if value is None else f"{name_of(name)} = {text_of(value)}"
        for name, value in spec
    )
    return f"PARTITION ({', '.join(parts)})"


@writes(QueryStatement)
def _query(node: QueryStatement) -> str:
    return text_of(node.query)


@writes(InsertStatement)
def _insert(node: InsertStatement) -> str:
    columns = None if node.columns is None else f"({listed(node.columns)})"
    hints = f"/*+ {listed(node.hints)} */" if node.hints else None
    head = words(
        "INSERT OVERWRITE" if node.overwrite else "INSERT INTO",
        text_of(node.table),
        hints,
        partition_of(node.partition),
        columns,
    )
    conflict = "" if node.on_conflict is None else f"\nON CONFLICT DO {node.on_conflict}"
    return f"{head}\n{text_of(node.query)}{conflict}"


def _set_of(node: StatementSetStatement) -> str:
    inserts = "".join(f"{text_of(insert)};\n" for insert in node.statements)
    return f"STATEMENT SET BEGIN\n{inserts}END"


@writes(StatementSetStatement)
def _statement_set(node: StatementSetStatement) -> str:
    return f"EXECUTE {_set_of(node)}"


@writes(BeginStatementSet)
def _begin(node: BeginStatementSet) -> str:
    del node
    return "BEGIN STATEMENT SET"


@writes(EndStatementSet)
def _end(node: EndStatementSet) -> str:
    del node
    return "END"


@writes(ExplainStatement)
def _explain(node: ExplainStatement) -> str:
    return words("EXPLAIN", ", ".join(node.details), text_of(node.statement))


@writes(DescribeStatement)
def _describe(node: DescribeStatement) -> str:
    if node.kind == "JOB":
        return f"DESCRIBE JOB {quoted(node.name.parts[0])}"
    kind = None if node.kind == "TABLE" else node.kind
    return words("DESCRIBE", kind, "EXTENDED" if node.extended else None, path_of(node.name))


@writes(ShowPattern)
def _pattern(node: ShowPattern) -> str:
    return words("NOT" if node.negated else None, node.operator, quoted(node.pattern))


@writes(ShowStatement)
def _show(node: ShowStatement) -> str:
    name = None if node.name is None else path_of(node.name)
    if name is not None and not node.what.startswith(("CREATE", "PARTITIONS")):
        name = f"FROM {name}"
    pattern = None if node.pattern is None else text_of(node.pattern)
    return words("SHOW", node.what, name, partition_of(node.partition), pattern)


@writes(UseStatement)
def _use(node: UseStatement) -> str:
    kind = None if node.kind == "DATABASE" else node.kind
    return words("USE", kind, listed(node.names))


@writes(SetStatement)
def _set(node: SetStatement) -> str:
    if node.key is None or node.value is None:
        return "SET"
    return f"SET {quoted(node.key)} = {quoted(node.value)}"


@writes(ResetStatement)
def _reset(node: ResetStatement) -> str:
    return words("RESET", None if node.key is None else quoted(node.key))


@writes(LoadModule)
def _load(node: LoadModule) -> str:
    options = f"WITH {options_of(node.options)}" if node.options else None
    return words("LOAD MODULE", name_of(node.name), options)


@writes(UnloadModule)
def _unload(node: UnloadModule) -> str:
    return f"UNLOAD MODULE {name_of(node.name)}"


@writes(JarStatement)
def _jar(node: JarStatement) -> str:
    return f"{node.action} JAR {quoted(node.path)}"


@writes(AnalyzeTable)
def _analyze(node: AnalyzeTable) -> str:
    columns = None
    if node.all_columns:
        columns = "FOR ALL COLUMNS"
    elif node.columns:
        columns = f"FOR COLUMNS {names_of(node.columns)[1:-1]}"
    partition = partition_of(node.partition)
    return words("ANALYZE TABLE", path_of(node.name), partition, "COMPUTE STATISTICS", columns)


@writes(TruncateTable)
def _truncate(node: TruncateTable) -> str:
    return f"TRUNCATE TABLE {path_of(node.name)}"


@writes(DeleteStatement)
def _delete(node: DeleteStatement) -> str:
    alias = None if node.alias is None else f"AS {name_of(node.alias)}"
    where = None if node.where is None else f"WHERE {text_of(node.where)}"
    return words("DELETE FROM", path_of(node.table), alias, where)


@writes(UpdateStatement)
def _update(node: UpdateStatement) -> str:
    alias = None if node.alias is None else f"AS {name_of(node.alias)}"
    values = ", ".join(f"{path_of(name)} = {text_of(value)}" for name, value in node.assignments)
    where = None if node.where is None else f"WHERE {text_of(node.where)}"
    return words("UPDATE", path_of(node.table), alias, "SET", values, where)


@writes(CompilePlan)
def _compile(node: CompilePlan) -> str:
    body = node.statement
    text = _set_of(body) if isinstance(body, StatementSetStatement) else text_of(body)
    return words(
        "COMPILE AND EXECUTE PLAN" if node.execute else "COMPILE PLAN",
        quoted(node.path),
        "IF NOT EXISTS" if node.if_not_exists else None,
        f"FOR {text}",
    )


@writes(ExecutePlan)
def _execute_plan(node: ExecutePlan) -> str:
    return f"EXECUTE PLAN {quoted(node.path)}"


@writes(StopJob)
def _stop(node: StopJob) -> str:
    return words(
        "STOP JOB",
        quoted(node.job_id),
        "WITH SAVEPOINT" if node.savepoint else None,
        "WITH DRAIN" if node.drain else None,
    )


@writes(CallStatement)
def _call(node: CallStatement) -> str:
    return f"CALL {text_of(node.call)}"


@writes(ClientCommand)
def _client(node: ClientCommand) -> str:
    return node.name
