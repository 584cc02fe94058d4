"""Queries as text.

In: nodes of query_ast.py.  Out: text that parses to an equal node.  Next: render_statements.py
"""

from __future__ import annotations

from headrace.sql.query_ast import (
    AliasedTable,
    CommonTable,
    DerivedTable,
    GroupingSets,
    JoinedTable,
    MatchMeasure,
    MatchRecognize,
    OrderedQuery,
    PatternAlternation,
    PatternConcatenation,
    PatternExclusion,
    PatternNode,
    PatternPermutation,
    PatternQuantifier,
    PatternVariable,
    QueryHint,
    Select,
    SelectItem,
    SetQuery,
    SqlQuery,
    SystemTimeTable,
    TableFunctionCall,
    TableName,
    TableQuery,
    TableReference,
    UnnestTable,
    ValuesQuery,
    WithQuery,
)
from headrace.sql.rendering import listed, name_of, names_of, quoted, text_of, words, writes

_JOINS = {
    "INNER": "INNER JOIN",
    "LEFT": "LEFT JOIN",
    "RIGHT": "RIGHT JOIN",
    "FULL": "FULL JOIN",
    "CROSS": "CROSS JOIN",
    "SEMI": "LEFT SEMI JOIN",
    "ANTI": "LEFT ANTI JOIN",
}


# --- queries -----------------------------------------------------------------------------------


@writes(Select)
def _select(node: Select) -> str:
    head = words("SELECT", _hints(node.hints), "DISTINCT" if node.distinct else None)
    clauses = [f"{head} {listed(node.items)}"]
    if node.from_ is not None:
        clauses.append(f"FROM {text_of(node.from_)}")
    if node.where is not None:
        clauses.append(f"WHERE {text_of(node.where)}")
    if node.group_by is not None:
        clauses.append(f"GROUP BY {listed(node.group_by) or '()'}")
    if node.having is not None:
        clauses.append(f"HAVING {text_of(node.having)}")
    if node.windows:
        clauses.append(f"WINDOW {listed(node.windows)}")
    if node.qualify is not None:
        clauses.append(f"QUALIFY {text_of(node.qualify)}")
    return "\n".join(clauses)


@writes(SelectItem)
def _select_item(node: SelectItem) -> str:
    alias = None if node.alias is None else f"AS {name_of(node.alias)}"
    return words(text_of(node.expression), alias)


@writes(GroupingSets)
def _grouping_sets(node: GroupingSets) -> str:
    sets = (
        text_of(each) if isinstance(each, GroupingSets) else f"({listed(each)})"
        for each in node.sets
    )
    return f"{node.kind} ({', '.join(sets)})"


@writes(SetQuery)
def _set_query(node: SetQuery) -> str:
    operator = f"{node.kind} ALL" if node.all else node.kind
    return f"{_part(node.left)}\n{operator}\n{_part(node.right)}"


def _part(query: SqlQuery) -> str:
    """A part of a set operation; only what is one piece stands without parentheses."""
    text = text_of(query)
    return text if isinstance(query, Select | TableQuery) else f"({text})"


@writes(ValuesQuery)
def _values(node: ValuesQuery) -> str:
    return "VALUES " + ", ".join(f"({listed(row)})" for row in node.rows)


@writes(TableQuery)
def _table_query(node: TableQuery) -> str:
    return f"TABLE {text_of(node.name)}"


@writes(WithQuery)
def _with(node: WithQuery) -> str:
    return words("WITH", "RECURSIVE" if node.recursive else None, listed(node.tables)) + (
        f"\n{text_of(node.query)}"
    )


@writes(CommonTable)
def _common_table(node: CommonTable) -> str:
    columns = None if node.columns is None else names_of(node.columns)
    return words(name_of(node.name), columns, f"AS ({text_of(node.query)})")


@writes(OrderedQuery)
def _ordered(node: OrderedQuery) -> str:
    inner = text_of(node.query)
    if isinstance(node.query, WithQuery | OrderedQuery):
        inner = f"({inner})"
    order = f"ORDER BY {listed(node.order_by)}" if node.order_by else None
    limit = None if node.limit is None else f"LIMIT {text_of(node.limit)}"
    offset = None if node.offset is None else f"OFFSET {text_of(node.offset)}"
    return f"{inner}\n{words(order, limit, offset)}"


# --- behind FROM -------------------------------------------------------------------------------


def _hints(hints: tuple[QueryHint, ...]) -> str | None:
    return f"/*+ {listed(hints)} */" if hints else None


@writes(QueryHint)
def _hint(node: QueryHint) -> str:
    options = [f"{quoted(key)} = {quoted(value)}" for key, value in node.options]
    inner = ", ".join([*options, *map(quoted, node.arguments)])
    return f"{name_of(node.name)}({inner})"


@writes(TableName)
def _table(node: TableName) -> str:
    return words(text_of(node.name), _hints(node.hints))


@writes(DerivedTable)
def _derived(node: DerivedTable) -> str:
    return words("LATERAL" if node.lateral else None, f"({text_of(node.query)})")


@writes(TableFunctionCall)
def _table_function(node: TableFunctionCall) -> str:
    call = text_of(node.call)
    if node.bare:
        return call
    return words("LATERAL" if node.lateral else None, f"TABLE({call})", _hints(node.hints))


@writes(UnnestTable)
def _unnest(node: UnnestTable) -> str:
    ordinality = "WITH ORDINALITY" if node.ordinality else None
    return words(f"UNNEST({listed(node.items)})", ordinality)


@writes(SystemTimeTable)
def _system_time(node: SystemTimeTable) -> str:
    return f"{text_of(node.table)} FOR SYSTEM_TIME AS OF {text_of(node.time)}"


@writes(AliasedTable)
def _aliased(node: AliasedTable) -> str:
    columns = None if node.columns is None else names_of(node.columns)
    return words(_operand(node.table), "AS", name_of(node.alias), columns)


@writes(JoinedTable)
def _join(node: JoinedTable) -> str:
    left, right = text_of(node.left), _operand(node.right)
    if node.comma:
        return f"{left}, {right}"
    condition = None if node.condition is None else f"ON {text_of(node.condition)}"
    using = None if node.using is None else f"USING {names_of(node.using)}"
    natural = "NATURAL" if node.natural else None
    return words(left, natural, _JOINS[node.kind], right, condition, using)


def _operand(table: TableReference) -> str:
    return f"({text_of(table)})" if isinstance(table, JoinedTable) else text_of(table)


# --- MATCH_RECOGNIZE ---------------------------------------------------------------------------


@writes(MatchRecognize)
def _match(node: MatchRecognize) -> str:
    define = ", ".join(f"{name_of(name)} AS {text_of(when)}" for name, when in node.define)
    subsets = ", ".join(f"{name_of(name)} = {names_of(of)}" for name, of in node.subsets)
    inner = words(
        f"PARTITION BY {listed(node.partition_by)}" if node.partition_by else None,
        f"ORDER BY {listed(node.order_by)}" if node.order_by else None,
        f"MEASURES {listed(node.measures)}" if node.measures else None,
        _rows(node),
        _after(node),
        f"PATTERN ({text_of(node.pattern)})",
        None if node.within is None else f"WITHIN {text_of(node.within)}",
        f"SUBSET {subsets}" if subsets else None,
        f"DEFINE {define}",
    )
    return f"{_operand(node.table)} MATCH_RECOGNIZE ({inner})"


def _rows(node: MatchRecognize) -> str | None:
    if node.rows_per_match is None:
        return None
    return "ONE ROW PER MATCH" if node.rows_per_match == "ONE" else "ALL ROWS PER MATCH"


def _after(node: MatchRecognize) -> str | None:
    match node.after_match:
        case None:
            return None
        case "PAST LAST ROW":
            return "AFTER MATCH SKIP PAST LAST ROW"
        case "NEXT ROW":
            return "AFTER MATCH SKIP TO NEXT ROW"
        case side:
            return f"AFTER MATCH SKIP TO {side} {name_of(node.after_variable or '')}"


@writes(MatchMeasure)
def _measure(node: MatchMeasure) -> str:
    return f"{text_of(node.expression)} AS {name_of(node.alias)}"


@writes(PatternVariable)
def _variable(node: PatternVariable) -> str:
    return node.name if node.name in {"^", "$"} else name_of(node.name)


def _factor(node: PatternNode) -> str:
    """A part that stands for itself; others need parentheses."""
    compound = isinstance(node, PatternConcatenation | PatternAlternation | PatternQuantifier)
    return f"({text_of(node)})" if compound else text_of(node)


@writes(PatternConcatenation)
def _concatenation(node: PatternConcatenation) -> str:
    return " ".join(
        text_of(part) if isinstance(part, PatternQuantifier) else _factor(part)
        for part in node.parts
    )


@writes(PatternAlternation)
def _alternation(node: PatternAlternation) -> str:
    return " | ".join(
        f"({text_of(part)})" if isinstance(part, PatternAlternation) else text_of(part)
        for part in node.parts
    )


@writes(PatternQuantifier)
def _quantifier(node: PatternQuantifier) -> str:
    signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    sign = signs.get((node.minimum, node.maximum))
    if sign is None and node.minimum == node.maximum:
        sign = f"{{{node.minimum}}}"
    elif sign is None:
        sign = f"{{{node.minimum},{'' if node.maximum is None else node.maximum}}}"
    return f"{_factor(node.part)}{sign}{'' if node.greedy else '?'}"


@writes(PatternExclusion)
def _exclusion(node: PatternExclusion) -> str:
    return f"{{- {text_of(node.part)} -}}"


@writes(PatternPermutation)
def _permutation(node: PatternPermutation) -> str:
    return f"PERMUTE({listed(node.parts)})"
