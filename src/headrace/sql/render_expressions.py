"""Expressions and types as text.

In: nodes of ast.py.  Out: text that parses to an equal node; parentheses stand only where the
order of operators needs them.  Next: render_queries.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.sql.ast import (
    ArrayConstructor,
    ArrayQuery,
    Between,
    BinaryOperation,
    CaseWhen,
    CastExpression,
    CursorArgument,
    DefaultArgument,
    DescriptorArgument,
    Exists,
    FieldAccess,
    FrameBound,
    FunctionCall,
    Identifier,
    InList,
    InQuery,
    IntervalLiteral,
    IsDistinctFrom,
    IsPredicate,
    ItemAccess,
    JsonClauses,
    JsonEntry,
    LikePredicate,
    LiteralKind,
    MapConstructor,
    ModelArgument,
    NamedArgument,
    NamedWindow,
    OverClause,
    QuantifiedComparison,
    RowConstructor,
    ScalarSubquery,
    SortItem,
    SqlExpression,
    SqlKeyword,
    SqlLiteral,
    Star,
    TableArgument,
    TypeField,
    TypeName,
    UnaryOperation,
    WindowFrame,
)
from headrace.sql.expressions import BINARY
from headrace.sql.keywords import RESERVED, RESERVED_FUNCTIONS
from headrace.sql.operator_names import BARE_FUNCTIONS
from headrace.sql.rendering import listed, name_of, path_of, quoted, text_of, words, writes

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.sql.ast import JsonBehavior, SqlNode

_ATOM, _POSTFIX, _SIGN, _MULTISET, _IN, _COMPARE, _IS, _NOT = 100, 90, 80, 40, 32, 30, 28, 26
_SPECIAL_NAMES = frozenset(
    {"FLOOR", "CEIL", "SUBSTRING", "POSITION", "EXTRACT", "TRIM", "OVERLAY", "JSON_VALUE",
     "JSON_QUERY", "JSON_EXISTS", "JSON_OBJECT", "JSON_OBJECTAGG", "JSON_ARRAY", "JSON_ARRAYAGG"}
)  # fmt: skip


def _binds(node: SqlExpression) -> int:
    match node:
        case BinaryOperation():
            if node.operator.startswith("MULTISET"):
                return _MULTISET
            return BINARY.get(node.operator, _COMPARE)
        case UnaryOperation():
            return _NOT if node.operator == "NOT" else _SIGN
        case Between() | InList() | InQuery() | LikePredicate():
            return _IN
        case IsPredicate() | IsDistinctFrom():
            return _IS
        case QuantifiedComparison():
            return _COMPARE
        case FunctionCall() if node.name in {("RUNNING",), ("FINAL",)}:
            return _POSTFIX
        case NamedArgument() | TableArgument():
            return 0
        case _:
            return _ATOM


def within(node: SqlExpression, least: int) -> str:
    """An operand, in parentheses if its operator does not bind tight enough."""
    text = text_of(node)
    return text if _binds(node) >= least else f"({text})"


# --- names and literals ------------------------------------------------------------------------


@writes(Identifier)
def _identifier(node: Identifier) -> str:
    return path_of(node)


@writes(Star)
def _star(node: Star) -> str:
    return ".".join([*map(name_of, node.qualifier), "*"])


@writes(SqlKeyword)
def _keyword(node: SqlKeyword) -> str:
    return node.name


@writes(SqlLiteral)
def _literal(node: SqlLiteral) -> str:
    match node.kind:
        case LiteralKind.STRING:
            return quoted(node.text)
        case LiteralKind.BINARY:
            return f"X'{node.text}'"
        case LiteralKind.DATE | LiteralKind.TIME | LiteralKind.TIMESTAMP:
            return f"{node.kind.upper()} '{node.text}'"
        case LiteralKind.TIMESTAMP_LTZ:
            return f"TIMESTAMP WITH LOCAL TIME ZONE '{node.text}'"
        case _:
            return node.text


@writes(IntervalLiteral)
def _interval(node: IntervalLiteral) -> str:
    sign = "-" if node.negative else ""
    units = (node.start,) if node.end is None else (node.start, node.end)
    return f"INTERVAL {sign}{quoted(node.text)} {_units(units, node.precision, node.fraction)}"


def _units(units: tuple[str, ...], precision: int | None, fraction: int | None) -> str:
    first, *rest = units
    if not rest and first == "SECOND" and fraction is not None:
        return f"SECOND({precision}, {fraction})"
    text = first if precision is None else f"{first}({precision})"
    if rest:
        text += f" TO {rest[0]}" + ("" if fraction is None else f"({fraction})")
    return text


# --- operators ---------------------------------------------------------------------------------


@writes(UnaryOperation)
def _unary(node: UnaryOperation) -> str:
    if node.operator == "NOT":
        return f"NOT {within(node.operand, _NOT)}"
    operand = within(node.operand, _SIGN)
    space = " " if operand[0] in "+-" else ""
    return f"{node.operator}{space}{operand}"


@writes(BinaryOperation)
def _binary(node: BinaryOperation) -> str:
    binds = _binds(node)
    right = 60 if node.operator.startswith("MULTISET") else binds + 1
    return f"{within(node.left, binds)} {node.operator} {within(node.right, right)}"


@writes(Between)
def _between(node: Between) -> str:
    symmetric = "SYMMETRIC " if node.symmetric else ""
    low, high = within(node.low, _IN + 1), within(node.high, _IN + 1)
    return f"{within(node.operand, _IN)} {_not(node)}BETWEEN {symmetric}{low} AND {high}"


def _not(node: Between | InList | InQuery | LikePredicate | IsPredicate | IsDistinctFrom) -> str:
    return "NOT " if node.negated else ""


@writes(InList)
def _in_list(node: InList) -> str:
    return f"{within(node.operand, _IN)} {_not(node)}IN ({listed(node.items)})"


@writes(InQuery)
def _in_query(node: InQuery) -> str:
    return f"{within(node.operand, _IN)} {_not(node)}IN ({text_of(node.query)})"


@writes(LikePredicate)
def _like(node: LikePredicate) -> str:
    escape = "" if node.escape is None else f" ESCAPE {within(node.escape, _SIGN)}"
    pattern = within(node.pattern, _IN + 1)
    return f"{within(node.operand, _IN)} {_not(node)}{node.operator} {pattern}{escape}"


@writes(IsPredicate)
def _is(node: IsPredicate) -> str:
    return f"{within(node.operand, _IS)} IS {_not(node)}{node.what}"


@writes(IsDistinctFrom)
def _is_distinct(node: IsDistinctFrom) -> str:
    right = within(node.right, _COMPARE + 1)
    return f"{within(node.left, _IS)} IS {_not(node)}DISTINCT FROM {right}"


@writes(QuantifiedComparison)
def _quantified(node: QuantifiedComparison) -> str:
    inner = listed(node.items) if node.query is None else text_of(node.query)
    return f"{within(node.left, _COMPARE)} {node.operator} {node.quantifier} ({inner})"


@writes(CaseWhen)
def _case(node: CaseWhen) -> str:
    operand = None if node.operand is None else text_of(node.operand)
    branches = [f"WHEN {text_of(w)} THEN {text_of(t)}" for w, t in node.branches]
    otherwise = None if node.otherwise is None else f"ELSE {text_of(node.otherwise)}"
    return words("CASE", operand, *branches, otherwise, "END")


@writes(CastExpression)
def _cast(node: CastExpression) -> str:
    name = "TRY_CAST" if node.lenient else "CAST"
    return f"{name}({text_of(node.operand)} AS {text_of(node.type)})"


@writes(ItemAccess)
def _item(node: ItemAccess) -> str:
    return f"{within(node.operand, _POSTFIX + 1)}[{text_of(node.index)}]"


@writes(FieldAccess)
def _field(node: FieldAccess) -> str:
    operand = within(node.operand, _POSTFIX + 1)
    if isinstance(node.operand, Identifier | SqlLiteral):  # `0.a` is the number 0. with an alias
        operand = f"({operand})"
    return f"{operand}.{'*' if node.name == '*' else name_of(node.name)}"


@writes(RowConstructor)
def _row(node: RowConstructor) -> str:
    return f"{'ROW' if node.explicit else ''}({listed(node.items)})"


@writes(ArrayConstructor)
def _array(node: ArrayConstructor) -> str:
    return f"{'MULTISET' if node.multiset else 'ARRAY'}[{listed(node.items)}]"


@writes(MapConstructor)
def _map(node: MapConstructor) -> str:
    return f"MAP[{listed(part for entry in node.entries for part in entry)}]"


@writes(ArrayQuery)
def _array_query(node: ArrayQuery) -> str:
    return f"{node.kind}({text_of(node.query)})"


@writes(Exists)
def _exists(node: Exists) -> str:
    return f"{'UNIQUE' if node.unique else 'EXISTS'} ({text_of(node.query)})"


@writes(ScalarSubquery)
def _subquery(node: ScalarSubquery) -> str:
    return f"({text_of(node.query)})"


# --- calls -------------------------------------------------------------------------------------


@writes(NamedArgument)
def _named_argument(node: NamedArgument) -> str:
    return f"{name_of(node.name)} => {text_of(node.value)}"


@writes(DefaultArgument)
def _default(node: DefaultArgument) -> str:
    del node
    return "DEFAULT"


@writes(DescriptorArgument)
def _descriptor(node: DescriptorArgument) -> str:
    types = node.types or (None,) * len(node.columns)
    columns = (
        words(name_of(name), None if kind is None else text_of(kind))
        for name, kind in zip(node.columns, types, strict=True)
    )
    return f"DESCRIPTOR({', '.join(columns)})"


@writes(TableArgument)
def _table_argument(node: TableArgument) -> str:
    is_name = isinstance(node.table, Identifier)
    table = f"TABLE {text_of(node.table)}" if is_name else f"({text_of(node.table)})"
    partition = f"PARTITION BY ({listed(node.partition_by)})" if node.partition_by else None
    order = f"ORDER BY ({listed(node.order_by)})" if node.order_by else None
    return words(table, partition, order)


@writes(ModelArgument)
def _model(node: ModelArgument) -> str:
    return f"MODEL {text_of(node.model)}"


@writes(CursorArgument)
def _cursor(node: CursorArgument) -> str:
    return f"CURSOR({text_of(node.query)})"


@writes(FunctionCall)
def _call(node: FunctionCall) -> str:
    if not node.parentheses:
        return node.name[0]
    special = _SPECIAL.get(node.name)
    if special is not None:
        return special(node)
    distinct = "DISTINCT" if node.distinct else None
    inner = words(distinct, listed(node.arguments), _order(node.order_by), _json_clauses(node))
    return words(f"{_function_name(node.name)}({inner})", *_behind(node))


def _function_name(name: tuple[str, ...]) -> str:
    if len(name) > 1:
        return ".".join(map(name_of, name))
    upper = name[0].upper()
    callable_ = upper not in RESERVED or upper in RESERVED_FUNCTIONS | _SPECIAL_NAMES
    return upper if upper in BARE_FUNCTIONS and callable_ else name_of(name[0])


def _order(items: tuple[SortItem, ...]) -> str | None:
    return f"ORDER BY {listed(items)}" if items else None


def _behind(node: FunctionCall) -> list[str | None]:
    within_group = f"WITHIN GROUP ({_order(node.within_group)})" if node.within_group else None
    condition = None if node.filter is None else f"FILTER (WHERE {text_of(node.filter)})"
    over = None if node.over is None else f"OVER {text_of(node.over)}"
    return [node.null_treatment, within_group, condition, over]


def _extract(node: FunctionCall) -> str:
    unit, value = node.arguments
    return f"EXTRACT({text_of(unit)} FROM {text_of(value)})"


def _floor(node: FunctionCall) -> str:
    value, *unit = node.arguments
    inner = text_of(value)
    if unit:
        # an interval would take TO for its own
        plain = isinstance(value, Identifier | FunctionCall)
        inner = f"{inner if plain else f'({inner})'} TO {text_of(unit[0])}"
    return words(f"{node.name[0]}({inner})", *_behind(node))


def _position(node: FunctionCall) -> str:
    part, whole, *start = node.arguments
    tail = f" FROM {text_of(start[0])}" if start else ""
    return f"POSITION({within(part, _IN + 1)} IN {text_of(whole)}{tail})"


def _overlay(node: FunctionCall) -> str:
    pairs = zip(("", " PLACING ", " FROM ", " FOR "), node.arguments, strict=False)
    return "OVERLAY(" + "".join(word + text_of(value) for word, value in pairs) + ")"


def _trim(node: FunctionCall) -> str:
    side, signs, value = map(text_of, node.arguments)
    return f"TRIM({side} {signs} FROM {value})"


def _running(node: FunctionCall) -> str:
    return f"{node.name[0]} {within(node.arguments[0], _POSTFIX)}"


_SPECIAL: dict[tuple[str, ...], Callable[[FunctionCall], str]] = {
    ("EXTRACT",): _extract,
    ("FLOOR",): _floor,
    ("CEIL",): _floor,
    ("POSITION",): _position,
    ("OVERLAY",): _overlay,
    ("TRIM",): _trim,
    ("RUNNING",): _running,
    ("FINAL",): _running,
}


@writes(JsonEntry)
def _json_entry(node: JsonEntry) -> str:
    return f"KEY {text_of(node.key)} VALUE {text_of(node.value)}"


def _json_clauses(node: FunctionCall) -> str | None:
    return None if node.json is None else text_of(node.json)


@writes(JsonClauses)
def _clauses(node: JsonClauses) -> str:
    returning = None if node.returning is None else f"RETURNING {text_of(node.returning)}"
    wrapper = None if node.wrapper is None else f"{node.wrapper} WRAPPER"
    empty, error = _behavior(node.on_empty, "EMPTY"), _behavior(node.on_error, "ERROR")
    on_null = None if node.on_null is None else f"{node.on_null} ON NULL"
    return words(returning, wrapper, empty, error, on_null)


def _behavior(behavior: JsonBehavior | None, case: str) -> str | None:
    if behavior is None:
        return None
    value = None if behavior.value is None else text_of(behavior.value)
    return words(behavior.kind, value, "ON", case)


# --- order and windows -------------------------------------------------------------------------


@writes(SortItem)
def _sort_item(node: SortItem) -> str:
    nulls = None if node.nulls is None else f"NULLS {node.nulls}"
    return words(text_of(node.expression), "DESC" if node.descending else None, nulls)


@writes(FrameBound)
def _bound(node: FrameBound) -> str:
    if node.kind == "CURRENT ROW":
        return node.kind
    return f"{'UNBOUNDED' if node.value is None else within(node.value, 25)} {node.kind}"


@writes(WindowFrame)
def _frame(node: WindowFrame) -> str:
    if node.upper is None:
        return f"{node.unit} {text_of(node.lower)}"
    return f"{node.unit} BETWEEN {text_of(node.lower)} AND {text_of(node.upper)}"


@writes(OverClause)
def _over(node: OverClause) -> str:
    name = None if node.name is None else name_of(node.name)
    if node.named_only and name is not None:
        return name
    partition = f"PARTITION BY {listed(node.partition_by)}" if node.partition_by else None
    frame = None if node.frame is None else text_of(node.frame)
    return f"({words(name, partition, _order(node.order_by), frame)})"


@writes(NamedWindow)
def _named_window(node: NamedWindow) -> str:
    return f"{name_of(node.name)} AS {text_of(node.window)}"


# --- types -------------------------------------------------------------------------------------


@writes(TypeField)
def _type_field(node: TypeField) -> str:
    comment = None if node.comment is None else quoted(node.comment)
    return words(name_of(node.name), text_of(node.type), comment)


@writes(TypeName)
def _type(node: TypeName) -> str:
    return _bare_type(node) + ("" if node.nullable else " NOT NULL")


def _bare_type(node: TypeName) -> str:
    if node.identifier:
        return ".".join(map(name_of, node.identifier))
    if node.units:
        precision, fraction = node.parameters or (None, None)
        return f"INTERVAL {_units(node.units, precision, fraction)}"
    if node.name == "TIMESTAMP_TZ":
        return f"TIMESTAMP{_numbers(node)} WITH TIME ZONE"
    if node.name == "RAW":
        return f"RAW({', '.join(map(quoted, node.strings))})"
    inner: list[str] = [*map(quoted, node.strings), *_inner_types(node)]
    return f"{node.name}<{', '.join(inner)}>" if _has_brackets(node) else node.name + _numbers(node)


def _inner_types(node: TypeName) -> list[str]:
    parts: tuple[SqlNode, ...] = (*node.arguments, *node.fields)
    return [text_of(part) for part in parts]


def _has_brackets(node: TypeName) -> bool:
    return node.name in {"ROW", "STRUCTURED"} or bool(node.arguments)


def _numbers(node: TypeName) -> str:
    return f"({', '.join(map(str, node.parameters))})" if node.parameters else ""
