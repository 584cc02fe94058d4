"""The columns that MATCH_RECOGNIZE reads, and how it is written in plans.

In: a RowMatch node.  Out: places of columns; the same over other columns; text.
Next: rules/prune_columns.py, explain.py
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.rel.conditions import moved
from headrace.scalars.matches import (
    AggregateLook,
    EventLook,
    MatchExpression,
    MatchLook,
    MatchStage,
)
from headrace.scalars.nodes import columns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from headrace.rel import nodes as n
    from headrace.scalars.nodes import Scalar


def columns_read(node: n.RowMatch) -> set[int]:
    """The places of the input's columns that a match needs."""
    width = len(node.input.schema)
    found = {*node.partition, *(key.column for key in node.order)}
    for expression in _expressions(node):
        found |= {place for place in columns_of(expression.scalar) if place < width}
        for look in expression.looks:
            found |= _columns_of_look(look)
    return found


def _expressions(node: n.RowMatch) -> Iterator[MatchExpression]:
    yield from node.measures
    yield from (stage.condition for stage in node.stages if stage.condition is not None)


def _columns_of_look(look: MatchLook) -> set[int]:
    match look:
        case EventLook():
            return {look.column}
        case AggregateLook():
            return {place for operand in look.operands for place in columns_of(operand)}
        case _:
            return set()


def over_columns(node: n.RowMatch, narrow: n.Rel, places: Mapping[int, int]) -> n.RowMatch:
    """The node over an input with other columns.

    Args:
        node: the node.
        narrow: its new input.
        places: where the columns that it reads went.
    """
    width, less = len(node.input.schema), len(node.input.schema) - len(narrow.schema)

    def place(column: int) -> int:
        return places[column] if column < width else column - less

    return replace(
        node,
        input=narrow,
        partition=tuple(places[column] for column in node.partition),
        order=tuple(key._replace(column=places[key.column]) for key in node.order),
        stages=tuple(_moved_stage(stage, place) for stage in node.stages),
        measures=tuple(_moved_expression(each, place) for each in node.measures),
    )


def _moved_stage(stage: MatchStage, place: Callable[[int], int]) -> MatchStage:
    if stage.condition is None:
        return stage
    prefilter = None if stage.prefilter is None else moved(stage.prefilter, place)
    return replace(stage, condition=_moved_expression(stage.condition, place), prefilter=prefilter)


def _moved_expression(expression: MatchExpression, place: Callable[[int], int]) -> MatchExpression:
    looks = tuple(_moved_look(look, place) for look in expression.looks)
    return MatchExpression(moved(expression.scalar, place), looks)


def _moved_look(look: MatchLook, place: Callable[[int], int]) -> MatchLook:
    match look:
        case EventLook():
            return replace(look, column=place(look.column))
        case AggregateLook():
            return replace(look, operands=tuple(moved(each, place) for each in look.operands))
        case _:
            return look


# --- text ----------------------------------------------------------------------------------------


def details(
    node: n.RowMatch, names: list[str], text_of: Callable[[Scalar, Sequence[str]], str]
) -> list[str]:
    """What a plan shows of a match, in Flink's words."""

    def shown(expression: MatchExpression) -> str:
        looks = [_look_text(look, names, text_of) for look in expression.looks]
        return text_of(expression.scalar, [*names, *looks])

    measured = zip(node.measures, node.schema[len(node.partition) :], strict=True)
    partition = ", ".join(names[place] for place in node.partition)
    order = ", ".join(
        f"{names[key.column]} {'DESC' if key.descending else 'ASC'}" for key in node.order
    )
    pattern = " ".join(f"{stage.variable}{stage.quantifier}" for stage in node.stages)
    define = ", ".join(
        f"{stage.variable}={shown(stage.condition)}"
        for stage in node.stages
        if stage.condition is not None
    )
    return [
        *([f"partitionBy=[{partition}]"] if partition else []),
        f"orderBy=[{order}]",
        f"measures=[{', '.join(f'{shown(each)} AS {field.name}' for each, field in measured)}]",
        "rowsPerMatch=[ONE ROW PER MATCH]",
        f"after=[{node.skip}]",
        f"pattern=[{pattern}]",
        *([f"within=[{node.within_ms} ms]"] if node.within_ms is not None else []),
        f"define=[{{{define}}}]",
    ]


def _look_text(
    look: MatchLook, names: list[str], text_of: Callable[[Scalar, Sequence[str]], str]
) -> str:
    match look:
        case EventLook():
            name = _of_variable(look.variable, names[look.column])
            word = "FIRST" if look.first else "LAST"
            return f"{word}({name}{f', {look.offset}' if look.offset else ''})"
        case AggregateLook():
            columns = [_of_variable(look.variable, name) for name in names]
            operands = ", ".join(text_of(each, columns) for each in look.operands) or "*"
            return f"{look.call.function}({operands})"
        case _:
            return "MATCH_PROCTIME()" if look.processing else "MATCH_ROWTIME()"


def _of_variable(variable: str | None, name: str) -> str:
    return name if variable is None else f"{variable}.{name}"
