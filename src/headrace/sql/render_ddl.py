"""CREATE, ALTER and DROP as text.

In: nodes of ddl_ast.py.  Out: text that parses to an equal node, as SHOW CREATE prints it.
Next: render.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sql.ddl_ast import (
    AddPartitionsAction,
    AlterFunction,
    AlterStatement,
    ColumnPlacement,
    CommentAction,
    ComputedColumnDefinition,
    ConstraintDefinition,
    CreateCatalog,
    CreateConnection,
    CreateDatabase,
    CreateFunction,
    CreateMaterializedTable,
    CreateModel,
    CreateTable,
    CreateView,
    DistributionAction,
    DistributionDefinition,
    DropAction,
    DropColumnsAction,
    DropPartitionsAction,
    DropStatement,
    FreshnessAction,
    LikeClause,
    MetadataColumnDefinition,
    NewQueryAction,
    PhysicalColumnDefinition,
    RefreshAction,
    RefreshModeAction,
    RenameAction,
    RenameColumnAction,
    ResetOptionsAction,
    ResumeAction,
    SchemaAction,
    SetOptionsAction,
    StartMode,
    SuspendAction,
    TableSchemaDefinition,
    WatermarkDefinition,
)
from headrace.sql.render_statements import partition_of
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

if TYPE_CHECKING:
    from headrace.sql.ast import SqlNode
    from headrace.sql.query_ast import SqlQuery
    from headrace.sql.statement_ast import Options


def _comment(text: str | None) -> str | None:
    return None if text is None else f"COMMENT {quoted(text)}"


def _with(options: Options) -> str | None:
    return f"WITH {options_of(options)}" if options else None


def _partitioned(columns: tuple[str, ...]) -> str | None:
    return f"PARTITIONED BY {names_of(columns)}" if columns else None


def _optional(prefix: str, node: SqlNode | None) -> str | None:
    return None if node is None else f"{prefix}{text_of(node)}"


def _flag(word: str, *, said: bool) -> str | None:
    return word if said else None


def _lines(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


# --- parts of tables ---------------------------------------------------------------------------


@writes(PhysicalColumnDefinition)
def _physical(node: PhysicalColumnDefinition) -> str:
    return words(path_of(node.name), text_of(node.type), _comment(node.comment))


@writes(ComputedColumnDefinition)
def _computed(node: ComputedColumnDefinition) -> str:
    return words(path_of(node.name), f"AS {text_of(node.expression)}", _comment(node.comment))


@writes(MetadataColumnDefinition)
def _metadata(node: MetadataColumnDefinition) -> str:
    return words(
        path_of(node.name),
        text_of(node.type),
        "METADATA",
        None if node.key is None else f"FROM {quoted(node.key)}",
        _flag("VIRTUAL", said=node.virtual),
        _comment(node.comment),
    )


@writes(WatermarkDefinition)
def _watermark(node: WatermarkDefinition) -> str:
    return f"WATERMARK FOR {path_of(node.column)} AS {text_of(node.expression)}"


@writes(ConstraintDefinition)
def _constraint(node: ConstraintDefinition) -> str:
    name = None if node.name is None else f"CONSTRAINT {name_of(node.name)}"
    enforced = {None: None, True: "ENFORCED", False: "NOT ENFORCED"}[node.enforced]
    return words(name, f"{node.kind} {names_of(node.columns)}", enforced)


@writes(TableSchemaDefinition)
def _schema(node: TableSchemaDefinition) -> str:
    mark = () if node.watermark is None else (node.watermark,)
    parts: tuple[SqlNode, ...] = (*node.columns, *node.names, *mark, *node.constraints)
    return "(\n" + ",\n".join(f"  {text_of(part)}" for part in parts) + "\n)"


@writes(DistributionDefinition)
def _distribution(node: DistributionDefinition) -> str:
    by = words("BY", node.kind, names_of(node.columns)) if node.columns else None
    return words(by, None if node.buckets is None else f"INTO {node.buckets} BUCKETS")


@writes(LikeClause)
def _like(node: LikeClause) -> str:
    options = " ".join(f"{strategy} {feature}" for strategy, feature in node.options)
    return words(f"LIKE {path_of(node.table)}", f"({options})" if options else None)


# --- CREATE ------------------------------------------------------------------------------------


def _create(kind: str, *, temporary: bool = False, if_not_exists: bool = False) -> str:
    exists = _flag("IF NOT EXISTS", said=if_not_exists)
    return words("CREATE", _flag("TEMPORARY", said=temporary), kind, exists)


@writes(CreateTable)
def _create_table(node: CreateTable) -> str:
    head = words(
        None if node.replace and not node.or_create else "CREATE",
        _flag("OR", said=node.or_create),
        _flag("REPLACE", said=node.replace),
        _flag("TEMPORARY", said=node.temporary),
        "TABLE",
        _flag("IF NOT EXISTS", said=node.if_not_exists),
        path_of(node.name),
        None if node.schema is None else text_of(node.schema),
    )
    return _lines(
        head,
        _comment(node.comment),
        _optional("DISTRIBUTED ", node.distribution),
        _partitioned(node.partitioned_by),
        _optional("USING CONNECTION ", node.connection),
        _with(node.options),
        None if node.like is None else text_of(node.like),
        _optional("AS ", node.query),
    )


@writes(CreateView)
def _create_view(node: CreateView) -> str:
    return words(
        words(
            "CREATE",
            _flag("OR REPLACE", said=node.replace),
            _flag("TEMPORARY", said=node.temporary),
            "VIEW",
            _flag("IF NOT EXISTS", said=node.if_not_exists),
        ),
        path_of(node.name),
        names_of(node.columns) if node.columns else None,
        _comment(node.comment),
        f"AS {text_of(node.query)}",
    )


@writes(CreateCatalog)
def _create_catalog(node: CreateCatalog) -> str:
    head = _create("CATALOG", if_not_exists=node.if_not_exists)
    return words(head, name_of(node.name), _comment(node.comment), _with(node.options))


@writes(CreateDatabase)
def _create_database(node: CreateDatabase) -> str:
    head = _create("DATABASE", if_not_exists=node.if_not_exists)
    return words(head, path_of(node.name), _comment(node.comment), _with(node.options))


@writes(CreateFunction)
def _create_function(node: CreateFunction) -> str:
    kind = "SYSTEM FUNCTION" if node.system else "FUNCTION"
    resources = ", ".join(f"{kind} {quoted(path)}" for kind, path in node.resources)
    return words(
        _create(kind, temporary=node.temporary, if_not_exists=node.if_not_exists),
        path_of(node.name),
        f"AS {quoted(node.class_name)}",
        None if node.language is None else f"LANGUAGE {node.language}",
        f"USING {resources}" if resources else None,
        _with(node.options),
    )


@writes(CreateModel)
def _create_model(node: CreateModel) -> str:
    return words(
        _create("MODEL", temporary=node.temporary, if_not_exists=node.if_not_exists),
        path_of(node.name),
        f"INPUT ({listed(node.inputs)})" if node.inputs else None,
        f"OUTPUT ({listed(node.outputs)})" if node.outputs else None,
        _comment(node.comment),
        _with(node.options),
        _as(node.query),
    )


def _as(query: SqlQuery | None) -> str | None:
    return None if query is None else f"AS {text_of(query)}"


@writes(CreateConnection)
def _create_connection(node: CreateConnection) -> str:
    kind = "SYSTEM CONNECTION" if node.system else "CONNECTION"
    return words(
        _create(kind, temporary=node.temporary, if_not_exists=node.if_not_exists),
        path_of(node.name),
        _comment(node.comment),
        f"WITH {options_of(node.options)}",
    )


@writes(StartMode)
def _start_mode(node: StartMode) -> str:
    return node.kind if node.value is None else f"{node.kind}({text_of(node.value)})"


@writes(CreateMaterializedTable)
def _create_materialized(node: CreateMaterializedTable) -> str:
    schema = None if node.schema is None else text_of(node.schema)
    kind = "OR ALTER MATERIALIZED TABLE" if node.or_alter else "MATERIALIZED TABLE"
    return _lines(
        words(_create(kind), path_of(node.name), schema),
        _comment(node.comment),
        _optional("DISTRIBUTED ", node.distribution),
        _partitioned(node.partitioned_by),
        _with(node.options),
        _optional("START_MODE = ", node.start_mode),
        _optional("FRESHNESS = ", node.freshness),
        None if node.refresh_mode is None else f"REFRESH_MODE = {node.refresh_mode}",
        f"AS {text_of(node.query)}",
    )


# --- ALTER -------------------------------------------------------------------------------------


@writes(AlterStatement)
def _alter(node: AlterStatement) -> str:
    exists = _flag("IF EXISTS", said=node.if_exists)
    return words("ALTER", node.kind, exists, path_of(node.name), text_of(node.action))


@writes(AlterFunction)
def _alter_function(node: AlterFunction) -> str:
    return words(
        "ALTER",
        _flag("TEMPORARY", said=node.temporary),
        _flag("SYSTEM", said=node.system),
        "FUNCTION",
        _flag("IF EXISTS", said=node.if_exists),
        path_of(node.name),
        f"AS {quoted(node.class_name)}",
        None if node.language is None else f"LANGUAGE {node.language}",
    )


@writes(RenameAction)
def _rename(node: RenameAction) -> str:
    return f"RENAME TO {path_of(node.name)}"


@writes(RenameColumnAction)
def _rename_column(node: RenameColumnAction) -> str:
    return f"RENAME {path_of(node.old)} TO {path_of(node.new)}"


@writes(SetOptionsAction)
def _set_options(node: SetOptionsAction) -> str:
    return f"SET {options_of(node.options)}"


@writes(ResetOptionsAction)
def _reset_options(node: ResetOptionsAction) -> str:
    return f"RESET ({', '.join(map(quoted, node.keys))})"


@writes(ColumnPlacement)
def _placement(node: ColumnPlacement) -> str:
    after = None if node.after is None else f"AFTER {path_of(node.after)}"
    return words(text_of(node.column), _flag("FIRST", said=node.first), after)


@writes(SchemaAction)
def _schema_action(node: SchemaAction) -> str:
    mark = () if node.watermark is None else (node.watermark,)
    parts: tuple[SqlNode, ...] = (*node.columns, *node.constraints, *mark)
    return f"{node.kind} ({listed(parts)})"


@writes(DistributionAction)
def _distribution_action(node: DistributionAction) -> str:
    return f"{node.kind} DISTRIBUTION {text_of(node.distribution)}"


@writes(DropColumnsAction)
def _drop_columns(node: DropColumnsAction) -> str:
    return f"DROP ({listed(node.columns)})"


@writes(DropAction)
def _drop_action(node: DropAction) -> str:
    return words("DROP", node.what, None if node.name is None else name_of(node.name))


@writes(AddPartitionsAction)
def _add_partitions(node: AddPartitionsAction) -> str:
    parts = [words(partition_of(spec), _with(options)) for spec, options in node.partitions]
    return words("ADD", _flag("IF NOT EXISTS", said=node.if_not_exists), *parts)


@writes(DropPartitionsAction)
def _drop_partitions(node: DropPartitionsAction) -> str:
    parts = ", ".join(partition_of(spec) or "" for spec in node.partitions)
    return words("DROP", _flag("IF EXISTS", said=node.if_exists), parts)


@writes(NewQueryAction)
def _new_query(node: NewQueryAction) -> str:
    return f"AS {text_of(node.query)}"


@writes(CommentAction)
def _comment_action(node: CommentAction) -> str:
    return f"COMMENT {quoted(node.comment)}"


@writes(FreshnessAction)
def _freshness(node: FreshnessAction) -> str:
    return f"SET FRESHNESS = {text_of(node.freshness)}"


@writes(RefreshModeAction)
def _refresh_mode(node: RefreshModeAction) -> str:
    return f"SET REFRESH_MODE = {node.mode}"


@writes(SuspendAction)
def _suspend(node: SuspendAction) -> str:
    del node
    return "SUSPEND"


@writes(ResumeAction)
def _resume(node: ResumeAction) -> str:
    return words("RESUME", _with(node.options))


@writes(RefreshAction)
def _refresh(node: RefreshAction) -> str:
    return words("REFRESH", partition_of(node.partition))


# --- DROP --------------------------------------------------------------------------------------


@writes(DropStatement)
def _drop(node: DropStatement) -> str:
    return words(
        "DROP",
        _flag("TEMPORARY", said=node.temporary),
        _flag("SYSTEM", said=node.system),
        node.kind,
        _flag("IF EXISTS", said=node.if_exists),
        path_of(node.name),
        _flag("CASCADE", said=node.cascade),
    )
