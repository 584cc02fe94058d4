"""Values of the program as tables: from_elements.

In: rows, tuples, dicts, single values or expressions.  Out: nodes.
Next: rel/connected_tables.py makes the source of them
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common.changes import Changes
from headrace.common.data_type_checks import _create_type_verifier
from headrace.common.data_type_inference import _create_converter, _infer_schema_from_data
from headrace.common.data_types import DataType, RowField, RowType
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.connectors.collection.source import CollectionSource
from headrace.data.line_values import to_line_value
from headrace.errors import ArgumentTypeError, InvalidArgumentError
from headrace.rel import nodes as n
from headrace.rel.building import project, ref
from headrace.rel.connected_tables import source_origin
from headrace.rel.functions import cast
from headrace.spi.table_connector import TableDefinition, TableSource
from headrace.sql import ast
from headrace.sql.api_ast import AliasedExpression
from headrace.table.expression import Expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.rel.nodes import Rel
    from headrace.table.table_environment import TableEnvironment


def elements_rel(
    env: TableEnvironment,
    elements: Iterable[Any],
    schema: DataType | Sequence[str] | None,
    *,
    verify: bool,
) -> Rel:
    """The node of values of the program."""
    given = list(elements)
    expressions = [each for each in given if isinstance(each, Expression)]
    if expressions:
        if len(expressions) != len(given):
            raise InvalidArgumentError(
                "It doesn't support part of the elements are Expression, while the others are not."
            )
        return _of_expressions(env, expressions, schema)
    if schema is None or isinstance(schema, list | tuple):
        names = None if schema is None else list(schema)
        row_type = _infer_schema_from_data(given, names)
        lines = [_create_converter(row_type)(element) for element in given]
        return lines_rel(env, lines, row_type)
    if not isinstance(schema, DataType):
        raise ArgumentTypeError(
            f"schema should be RowType, list, tuple or None, but got: {schema}",
            fix="DataTypes.ROW([DataTypes.FIELD(...), ...]), or a list of names",
        )
    if verify:
        name = None if isinstance(schema, RowType) else "field value"
        check = _create_type_verifier(schema, name=name)
        for element in given:
            check(element)
    if isinstance(schema, RowType):
        return lines_rel(env, given, schema)
    row_type = RowType([RowField("value", schema)])
    return lines_rel(env, [(element,) for element in given], row_type)


def lines_rel(env: TableEnvironment, elements: Sequence[Any], row_type: RowType) -> Rel:
    """The node of lines that are known."""
    name = f"Unregistered_Collection_Source_{env._next_number()}"
    convert = to_line_value(row_type)
    assert convert is not None
    lines = [convert(element) for element in elements]
    definition = TableDefinition(name=name, columns=row_type, options={})
    source = CollectionSource(lines, RowDataTypeInfo(row_type))
    origin = source_origin(definition, TableSource(source, Changes.INSERT))
    fields = tuple(n.Field(field.name, field.data_type) for field in row_type.fields)
    return n.Scan(origin, schema=fields)


def _of_expressions(
    env: TableEnvironment,
    elements: Sequence[Expression[Any]],
    schema: DataType | Sequence[str] | None,
) -> Rel:
    """Lines of calls of ``row``, or of single expressions."""
    from headrace.sql.query_ast import ValuesQuery

    rows = []
    for element in elements:
        node = element._value
        rows.append(node.items if isinstance(node, ast.RowConstructor) else (node,))
    resolver = env._resolver()
    rel = resolver.query(ValuesQuery(tuple(tuple(_plain(i) for i in row) for row in rows)))
    if schema is None:
        return resolver.renamed(rel, [f"f{i}" for i in range(len(rel.schema))])
    if isinstance(schema, list | tuple):
        return resolver.renamed(rel, list(schema))
    if not isinstance(schema, RowType):
        schema = RowType([RowField("value", schema)])  # type: ignore[arg-type]
    if len(schema.fields) != len(rel.schema):
        raise InvalidArgumentError(
            f"the rows have {len(rel.schema)} values, the schema has {len(schema.fields)} fields"
        )
    scalars = [
        cast(ref(rel, place), field.data_type, always=True)
        for place, field in enumerate(schema.fields)
    ]
    return project(rel, scalars, schema.field_names())


def _plain(node: ast.SqlExpression) -> ast.SqlExpression:
    return node.operand if isinstance(node, AliasedExpression) else node
