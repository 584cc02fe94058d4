"""What EXPLAIN prints: the plan as it was written, and as it runs.

In: plans and their changes.  Out: text.  Next: table/ prints it
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from headrace.rel import matches
from headrace.rel import nodes as n
from headrace.rel.resolve.select import unique_names
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.nodes import Call, Case, Cast, Literal, Outer, Ref, UserCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.rel.changelog import ChangelogPlan
    from headrace.scalars.nodes import Scalar


def explained(given: Sequence[n.Rel], ends: Sequence[n.Rel], changes: ChangelogPlan) -> str:
    """The text of EXPLAIN."""
    parts = ["== Abstract Syntax Tree =="]
    parts += ["\n".join(tree(root)) + "\n" for root in given]
    parts += ["== Optimized Physical Plan =="]
    parts += ["\n".join(tree(root, changes)) + "\n" for root in ends]
    return "\n".join(parts)


def tree(node: n.Rel, changes: ChangelogPlan | None = None, depth: int = 0) -> list[str]:
    """A line for each node, those below it further to the right."""
    shown = ", ".join(_details(node))
    if changes is not None and not isinstance(node, n.TableInsert):
        shown += f"{', ' if shown else ''}changelogMode=[{changes.of(node)}]"
    name = "Match" if isinstance(node, n.RowMatch) else type(node).__name__  # as Flink calls it
    lines = [f"{'   ' * (depth - 1)}{'+- ' if depth else ''}{name}({shown})"]
    for part in node.inputs:
        lines += tree(part, changes, depth + 1)
    return lines


def _details(node: n.Rel) -> list[str]:
    inner = [field for part in node.inputs for field in part.schema]
    names = unique_names([field.name for field in inner])
    found = []
    for each in fields(node):
        if each.name in ("input", "left", "right", "parts", "schema", "rows"):
            continue
        value = getattr(node, each.name)
        if _says_nothing(value):
            continue
        side = names
        if each.name in _OF_THE_RIGHT and isinstance(node, n.Binary):
            side = names[len(node.left.schema) :]
        found.append(f"{each.name}=[{_shown(each.name, value, side)}]")
    if isinstance(node, n.Binary | n.Union):
        found.append(f"select=[{', '.join(unique_names([f.name for f in node.schema]))}]")
    if isinstance(node, n.Calc):
        columns = zip(node.projections, node.schema, strict=True)
        shown = ", ".join(_column(scalar, field.name, names) for scalar, field in columns)
        found = [f"select=[{shown}]"]
        if node.condition is not None:
            found.append(f"where=[{text_of(node.condition, names)}]")
    if isinstance(node, n.Scan):
        found.append(f"fields=[{', '.join(field.name for field in node.schema)}]")
    if isinstance(node, n.RowMatch):
        found = matches.details(node, names, text_of)
    if isinstance(node, n.Values):
        found = [f"rows={len(node.rows)}"]
    return found


def _column(scalar: Scalar, name: str, names: list[str]) -> str:
    text = text_of(scalar, names)
    return name if text == name else f"{text} AS {name}"


def _says_nothing(value: object) -> bool:
    """Whether a setting is not set, or none of several is."""
    if isinstance(value, n.WatermarkPolicy):
        return value == n.WatermarkPolicy()
    parts = value if isinstance(value, tuple) else (value,)
    return all(part is None or part is False for part in parts)


# of joins, counted from the first column of the right side
_OF_THE_RIGHT = {"right_keys", "right_time"}
_PLACES = _OF_THE_RIGHT | {
    "keys", "partition", "left_keys", "primary_key", "column", "time", "left_time",
}  # fmt: skip


def _shown(name: str, value: object, names: list[str]) -> str:
    if name in _PLACES and isinstance(value, tuple):
        return ", ".join(names[place] if isinstance(place, int) else str(place) for place in value)
    if name in _PLACES and isinstance(value, int):
        return names[value]
    if name == "table":
        return str(getattr(value, "name", value))
    if isinstance(value, tuple):
        return ", ".join(_shown(name, part, names) for part in value)
    if isinstance(value, Ref | Call | Cast | Case | Literal | UserCall | Outer):
        return text_of(value, names)
    if isinstance(value, AggregateCall):
        arguments = ", ".join(names[place] for place in value.arguments) or "*"
        return f"{value.function}({'DISTINCT ' if value.distinct else ''}{arguments})"
    return str(value)


def text_of(scalar: Scalar, names: Sequence[str]) -> str:
    """A scalar, with the names of columns."""
    match scalar:
        case Ref():
            return names[scalar.index] if scalar.index < len(names) else f"${scalar.index}"
        case Outer():
            return f"outer.${scalar.index}"
        case Literal():
            return "NULL" if scalar.value is None else repr(scalar.value)
        case Cast():
            word = "TRY_CAST" if scalar.lenient else "CAST"
            return f"{word}({text_of(scalar.argument, names)} AS {scalar.type.nullable()})"
        case Case():
            parts = [
                f"WHEN {text_of(c, names)} THEN {text_of(v, names)}" for c, v in scalar.branches
            ]
            return f"CASE {' '.join(parts)} ELSE {text_of(scalar.otherwise, names)} END"
        case UserCall():
            arguments = ", ".join(text_of(each, names) for each in scalar.arguments)
            return f"{getattr(scalar.function, 'name', 'udf')}({arguments})"
        case Call():
            arguments_ = [text_of(each, names) for each in scalar.arguments]
            if len(arguments_) == 2 and not scalar.function[0].isalpha():
                return f"({arguments_[0]} {scalar.function} {arguments_[1]})"
            if scalar.function in ("AND", "OR"):
                return f"({f' {scalar.function} '.join(arguments_)})"
            return f"{scalar.function}({', '.join(arguments_)})"
