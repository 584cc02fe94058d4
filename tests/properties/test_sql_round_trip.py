"""Any tree becomes text that parses to the same tree; any text parses or is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import SqlParseError
from headrace.sql import ast, ddl_ast, query_ast, statement_ast
from headrace.sql.keywords import RESERVED
from headrace.sql.literals import interval_amount
from headrace.sql.parser import (
    parse_expression,
    parse_query,
    parse_script,
    parse_statement,
    parse_type,
)
from headrace.sql.render import render
from headrace.sql.tokens import TokenKind, tokenize

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(__file__).resolve().parents[1] / "sql_corpus"
few = settings(max_examples=80, deadline=None)

names = st.one_of(
    st.sampled_from(["a", "b", "ts", "order", "select", "MixedCase", "two words", "tick`s", "ü"]),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6),
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
flags = st.booleans()
paths = st.builds(ast.Identifier, st.lists(names, min_size=1, max_size=3).map(tuple))
columns = st.lists(names, min_size=1, max_size=3).map(tuple)
options = st.lists(st.tuples(texts, texts), max_size=2).map(tuple)
strings = texts.map(ast.literal)


def tuples(
    of: st.SearchStrategy[object], low: int = 0, high: int = 3
) -> st.SearchStrategy[tuple[object, ...]]:
    return st.lists(of, min_size=low, max_size=high).map(tuple)


def maybe(of: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | of


# --- types -------------------------------------------------------------------------------------

digits = st.integers(0, 9)
plain_types = st.one_of(
    st.sampled_from(["BOOLEAN", "INT", "BIGINT", "DOUBLE", "DATE", "STRING", "BYTES"]).map(
        ast.TypeName
    ),
    st.builds(
        ast.TypeName,
        st.sampled_from(
            ["CHAR", "VARCHAR", "BINARY", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_TZ"]
        ),
        st.one_of(st.just(()), st.tuples(digits)),
    ),
    st.builds(ast.TypeName, st.just("DECIMAL"), st.tuples(digits, digits)),
    st.builds(
        ast.TypeName,
        st.just("INTERVAL"),
        st.sampled_from([(), (2, None), (None, 3), (2, 3)]),
        units=st.sampled_from([("DAY", "SECOND"), ("HOUR", "SECOND")]),
    ),
    st.builds(ast.TypeName, st.just("RAW"), strings=st.tuples(texts, texts)),
    columns.map(lambda parts: ast.TypeName(".".join(parts), identifier=parts)),
)


def bigger_types(inner: st.SearchStrategy[ast.TypeName]) -> st.SearchStrategy[ast.TypeName]:
    fields = tuples(st.builds(ast.TypeField, names, inner, maybe(texts)))
    return st.one_of(
        st.builds(
            ast.TypeName, st.sampled_from(["ARRAY", "MULTISET"]), arguments=st.tuples(inner),
            nullable=flags,
        ),
        st.builds(ast.TypeName, st.just("MAP"), arguments=st.tuples(inner, inner)),
        st.builds(ast.TypeName, st.just("ROW"), fields=fields, nullable=flags),
        st.builds(
            ast.TypeName, st.just("STRUCTURED"), fields=fields, strings=st.tuples(texts)
        ),
    )  # fmt: skip


types = st.recursive(plain_types, bigger_types, max_leaves=5)
value_types = types.map(
    lambda found: ast.TypeName(
        found.name, found.parameters, found.arguments, found.fields, True, found.units,
        found.strings, found.identifier,
    )
)  # fmt: skip


# --- expressions and queries -------------------------------------------------------------------

intervals = st.builds(
    lambda text, units, negative: ast.IntervalLiteral(
        text, units[0], units[1] if len(units) > 1 else None, negative=negative,
        amount=(interval_amount(text, units) or 0) * (-1 if negative else 1),
    ),
    st.integers(0, 99).map(str),
    st.sampled_from([("DAY",), ("SECOND",), ("MONTH",), ("YEAR",)]),
    flags,
)  # fmt: skip
literals = st.one_of(
    st.integers(0, 10**20).map(ast.literal),
    st.decimals(0, 10**6, places=3).map(ast.literal),
    st.floats(0, 1e300, allow_nan=False, allow_infinity=False).map(ast.literal),
    strings,
    st.binary(max_size=4).map(ast.literal),
    st.sampled_from([True, False, None]).map(ast.literal),
    st.dates().map(ast.literal),
    st.times().map(ast.literal),
    st.datetimes(min_value=datetime.datetime(1000, 1, 1)).map(ast.literal),
    intervals,
)
functions = st.sampled_from(["UPPER", "COUNT", "MY_FUNCTION", "FLOOR", "YEAR", "SELECT", "É"])
operators = st.sampled_from(
    ["+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=", "AND", "OR", "MEMBER OF", "OVERLAPS"]
)
units = st.sampled_from(["DAY", "HOUR", "EPOCH"]).map(ast.SqlKeyword)


def sort_items(of: st.SearchStrategy[object]) -> st.SearchStrategy[tuple[object, ...]]:
    return tuples(st.builds(ast.SortItem, of, flags, st.sampled_from([None, "FIRST", "LAST"])))


def windows(of: st.SearchStrategy[object]) -> st.SearchStrategy[ast.OverClause]:
    bounds = st.one_of(
        st.just(ast.FrameBound("CURRENT ROW")),
        st.builds(ast.FrameBound, st.sampled_from(["PRECEDING", "FOLLOWING"]), maybe(literals)),
    )
    frames = st.builds(ast.WindowFrame, st.sampled_from(["ROWS", "RANGE"]), bounds, maybe(bounds))
    inline = st.builds(ast.OverClause, maybe(names), tuples(of), sort_items(of), maybe(frames))
    return inline | names.map(lambda name: ast.OverClause(name, named_only=True))


def calls(of: st.SearchStrategy[object]) -> st.SearchStrategy[ast.FunctionCall]:
    named = st.builds(ast.NamedArgument, names, of)
    return st.one_of(
        st.builds(
            ast.FunctionCall,
            st.sampled_from([("COUNT",), ("MY_AGGREGATE",), ("c", "d", "f")]),
            tuples(of | named, 1),
            flags,
            sort_items(of),
            sort_items(of),
            maybe(of),
            maybe(windows(of)),
            st.sampled_from([None, "IGNORE NULLS", "RESPECT NULLS"]),
        ),
        st.builds(ast.FunctionCall, functions.map(lambda name: (name,)), st.tuples(of)),
        st.builds(ast.FunctionCall, st.just(("EXTRACT",)), st.tuples(units, of)),
        st.builds(ast.FunctionCall, st.just(("CEIL",)), st.tuples(of, units)),
        st.builds(ast.FunctionCall, st.just(("POSITION",)), st.tuples(of, of)),
        st.builds(ast.FunctionCall, st.just(("SUBSTRING",)), st.tuples(of, of, of)),
        st.builds(
            ast.FunctionCall,
            st.just(("TRIM",)),
            st.tuples(st.sampled_from(["BOTH", "LEADING"]).map(ast.SqlKeyword), of, of),
        ),
        st.just(ast.FunctionCall(("CURRENT_DATE",), parentheses=False)),
    )


def bigger(of: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    queries = small_queries(of)
    return st.one_of(
        st.builds(ast.BinaryOperation, operators, of, of),
        st.builds(ast.UnaryOperation, st.sampled_from(["-", "+", "NOT"]), of),
        st.builds(ast.Between, of, of, of, flags, flags),
        st.builds(ast.InList, of, tuples(of, 2), flags),
        st.builds(ast.InQuery, of, queries, flags),
        st.builds(
            ast.LikePredicate, of, of, maybe(of), flags, st.sampled_from(["LIKE", "SIMILAR TO"])
        ),
        st.builds(ast.IsPredicate, of, st.sampled_from(["NULL", "TRUE", "JSON VALUE"]), flags),
        st.builds(ast.IsDistinctFrom, of, of, flags),
        st.builds(
            ast.CaseWhen, maybe(of), st.lists(st.tuples(of, of), min_size=1, max_size=2).map(tuple),
            maybe(of),
        ),
        st.builds(ast.CastExpression, of, value_types, flags),
        st.builds(ast.ItemAccess, of, of),
        st.builds(ast.FieldAccess, of, names),
        st.builds(ast.RowConstructor, tuples(of, 2), flags),
        st.builds(ast.ArrayConstructor, tuples(of), flags),
        st.builds(ast.MapConstructor, st.lists(st.tuples(of, of), max_size=2).map(tuple)),
        st.builds(ast.Exists, queries),
        st.builds(ast.ScalarSubquery, queries),
        st.builds(
            ast.QuantifiedComparison, st.sampled_from(["=", "<"]), st.sampled_from(["ANY", "ALL"]),
            of, queries,
        ),
        calls(of),
    )  # fmt: skip


def small_queries(of: st.SearchStrategy[object]) -> st.SearchStrategy[query_ast.SqlQuery]:
    items = tuples(st.builds(query_ast.SelectItem, of, maybe(names)), 1)
    tables = st.builds(query_ast.TableName, paths)
    return st.one_of(
        st.builds(query_ast.Select, items, tables, maybe(of)),
        st.builds(query_ast.ValuesQuery, tuples(tuples(of, 1), 1)),
    )


def has_two_readings(node: ast.SqlNode) -> bool:
    """Whether text cannot tell it from another tree.

    VALUES takes `(a, b)` and `ROW(a, b)` for a line, whatever it was, and an ORDER BY behind a
    subquery in a call belongs to the subquery.
    """
    for each in ast.walk_nodes(node):
        match each:
            case query_ast.ValuesQuery():
                alone = [row[0] for row in each.rows if len(row) == 1]
                if any(isinstance(value, ast.RowConstructor) for value in alone):
                    return True
            case ast.FunctionCall(arguments=[*_, ast.ScalarSubquery()]) if each.order_by:
                return True
    return False


leaves = paths | literals
expressions = st.recursive(leaves, bigger, max_leaves=8)


def table_references(
    of: st.SearchStrategy[object],
) -> st.SearchStrategy[query_ast.TableReference]:
    hints = tuples(
        st.builds(query_ast.QueryHint, st.sampled_from(["OPTIONS", "LOOKUP"]), options), 0, 1
    )
    single = st.one_of(
        st.builds(query_ast.TableName, paths, hints),
        st.builds(query_ast.DerivedTable, small_queries(of), flags),
        st.builds(
            query_ast.TableFunctionCall,
            st.builds(ast.FunctionCall, st.just(("MY_TABLES",)), tuples(of, 1)),
            flags,
        ),
        st.builds(query_ast.UnnestTable, st.tuples(of), flags),
    )
    aliased = single | st.builds(query_ast.AliasedTable, single, names, maybe(columns))
    kinds = st.sampled_from(["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"])
    return st.recursive(
        aliased,
        lambda inner: st.one_of(
            st.builds(query_ast.JoinedTable, inner, inner, kinds, of),
            st.builds(query_ast.JoinedTable, inner, inner, st.just("CROSS")),
            st.builds(query_ast.JoinedTable, inner, aliased, st.just("CROSS"), comma=st.just(True)),
            st.builds(query_ast.JoinedTable, inner, inner, kinds, using=columns),
        ),
        max_leaves=3,
    )


def queries_of(of: st.SearchStrategy[object]) -> st.SearchStrategy[query_ast.SqlQuery]:
    items = tuples(st.builds(query_ast.SelectItem, of, maybe(names)), 1)
    sets = st.builds(query_ast.GroupingSets, st.just("ROLLUP"), tuples(tuples(of, 1), 1))
    select = st.builds(
        query_ast.Select, items, table_references(of), maybe(of), maybe(tuples(of | sets)),
        maybe(of), tuples(st.builds(ast.NamedWindow, names, st.just(ast.OverClause())), 0, 1),
        maybe(of), flags,
    )  # fmt: skip
    counts = maybe(st.integers(0, 99).map(ast.literal))
    return st.recursive(
        select,
        lambda inner: st.one_of(
            st.builds(
                query_ast.SetQuery, st.sampled_from(["UNION", "INTERSECT", "EXCEPT"]), inner, inner,
                flags,
            ),
            st.builds(
                query_ast.OrderedQuery, inner,
                tuples(st.builds(ast.SortItem, of, flags), 1), counts, counts,
            ),
            st.builds(
                query_ast.WithQuery,
                tuples(st.builds(query_ast.CommonTable, names, inner, maybe(columns)), 1, 2),
                inner,
            ),
        ),
        max_leaves=3,
    )  # fmt: skip


queries = queries_of(st.recursive(leaves, bigger, max_leaves=3))


# --- statements --------------------------------------------------------------------------------

definitions = st.one_of(
    st.builds(ddl_ast.PhysicalColumnDefinition, paths, types, maybe(texts)),
    st.builds(ddl_ast.ComputedColumnDefinition, paths, leaves, maybe(texts)),
    st.builds(ddl_ast.MetadataColumnDefinition, paths, types, maybe(texts), flags, maybe(texts)),
)
constraints = st.builds(
    ddl_ast.ConstraintDefinition, st.sampled_from(["PRIMARY KEY", "UNIQUE"]), columns,
    maybe(names), maybe(flags),
)  # fmt: skip
marks = st.builds(ddl_ast.WatermarkDefinition, paths, leaves)
schemas = st.builds(
    ddl_ast.TableSchemaDefinition, tuples(definitions, 1), tuples(constraints), maybe(marks)
)
created = st.one_of(
    st.builds(
        ddl_ast.CreateTable, paths, maybe(schemas), maybe(texts),
        maybe(st.builds(ddl_ast.DistributionDefinition, st.sampled_from([None, "HASH"]), columns)),
        columns, st.none(), options, temporary=flags, if_not_exists=flags,
    ),
    st.builds(ddl_ast.CreateView, paths, queries, columns, maybe(texts), flags, flags),
    st.builds(ddl_ast.CreateCatalog, names, options, maybe(texts), flags),
    st.builds(ddl_ast.CreateFunction, paths, texts, st.sampled_from([None, "PYTHON"])),
    st.builds(
        ddl_ast.AlterStatement, st.just("TABLE"), paths,
        st.one_of(
            st.builds(ddl_ast.SetOptionsAction, options),
            st.builds(ddl_ast.RenameColumnAction, paths, paths),
            st.builds(
                ddl_ast.SchemaAction, st.sampled_from(["ADD", "MODIFY"]),
                tuples(st.builds(ddl_ast.ColumnPlacement, definitions, flags), 1),
                tuples(constraints),
            ),
            st.builds(ddl_ast.DropColumnsAction, tuples(paths, 1)),
        ),
        flags,
    ),
    st.builds(
        statement_ast.InsertStatement, paths, queries, maybe(tuples(paths, 1)),
        tuples(st.tuples(names, strings)), flags,
    ),
    st.builds(statement_ast.SetStatement, texts, texts),
    st.builds(
        statement_ast.ShowStatement, st.just("TABLES"), maybe(paths),
        maybe(st.builds(statement_ast.ShowPattern, texts, st.just("LIKE"), flags)),
    ),
)  # fmt: skip


def comes_back(node: ast.SqlNode, parse: Callable[[str], ast.SqlNode]) -> None:
    if has_two_readings(node):
        return
    text = render(node)
    assert parse(text) == node, text


@given(types)
@few
def test_types_come_back(node: ast.TypeName) -> None:
    comes_back(node, parse_type)


@given(expressions)
@few
def test_expressions_come_back(node: ast.SqlExpression) -> None:
    comes_back(node, parse_expression)


@given(queries)
@few
def test_queries_come_back(node: query_ast.SqlQuery) -> None:
    comes_back(node, parse_query)


@given(created)
@few
def test_statements_come_back(node: statement_ast.SqlStatement) -> None:
    comes_back(node, parse_statement)


# --- text that nobody meant --------------------------------------------------------------------

words = st.sampled_from(
    [*sorted(RESERVED), "a", "`b`", "'c'", "1", "1.5", "(", ")", ",", ".", "*", "=", "<", ">", ";",
     "[", "]", "/*+", "*/", "'", "`", '"', "::", "-", "--", "\n", "KEY", "MAP", "MODEL", "FIRST",
     "=>", "{", "}"]
)  # fmt: skip
beginnings = st.sampled_from(
    ["SELECT", "CREATE TABLE t (", "INSERT INTO t", "ALTER TABLE t", "SHOW", "SET", "EXPLAIN",
     "SELECT * FROM t MATCH_RECOGNIZE (", "SELECT f(", "SELECT CAST(a AS", "DESCRIBE", ""]
)  # fmt: skip


def parses_or_is_refused(text: str) -> None:
    for parse in (parse_script, parse_statement):
        refused = None
        try:
            parse(text)
        except SqlParseError as error:
            refused = error
        assert refused is None or (refused.line is not None and refused.text)


@given(beginnings, st.lists(words, max_size=8))
@settings(max_examples=400, deadline=None)
def test_nonsense_is_refused_with_a_place(beginning: str, rest: list[str]) -> None:
    parses_or_is_refused(" ".join([beginning, *rest]))


@given(st.text(max_size=30))
@few
def test_any_text_is_refused_with_a_place(text: str) -> None:
    parses_or_is_refused(text)


@pytest.mark.parametrize(
    "name", ["auctions", "joins_and_windows", "operations", "queries", "tables"]
)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_word_less_or_too_many(name: str, data: st.DataObject) -> None:
    text = (CORPUS / f"{name}.sql").read_text(encoding="utf-8")
    statements = parse_script(text)
    statement = data.draw(st.sampled_from(statements))
    assert statement.position is not None
    source = statement.position.source
    tokens = [token for token in tokenize(source) if token.kind is not TokenKind.END]
    at = data.draw(st.integers(0, len(tokens) - 1))
    other = data.draw(st.just("") | words)
    parses_or_is_refused(source[: tokens[at].start] + other + source[tokens[at].end :])


def test_decimals_keep_their_digits() -> None:
    assert parse_expression(render(ast.literal(Decimal("1.500")))) == ast.literal(Decimal("1.500"))
