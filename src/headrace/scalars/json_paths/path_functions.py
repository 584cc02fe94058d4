"""Functions at the end of a path: ``$.n.length()``, ``$.n.max()``.

In: the value before the function.  Out: the value it becomes.  Next: scalars/json_paths/compiler.py
"""

from __future__ import annotations

import math
import statistics
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from headrace.scalars.json_paths.documents import plain_text
from headrace.scalars.json_paths.steps import PathSyntaxError

if TYPE_CHECKING:
    from collections.abc import Callable


def _numbers(value: Any) -> list[float]:
    items = value if isinstance(value, list) else []
    numbers = [
        float(item)
        for item in items
        if isinstance(item, int | float | Decimal) and not isinstance(item, bool)
    ]
    if not numbers:
        raise PathSyntaxError("there are no numbers to aggregate")
    return numbers


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, dict | list) else None


def _keys(value: Any) -> list[str] | None:
    return list(value) if isinstance(value, dict) else None


def _concat(value: Any) -> str:
    items = value if isinstance(value, list) else []
    return "".join(plain_text(item) for item in items if isinstance(item, str))


def _at(value: Any, place: int) -> Any:
    if not isinstance(value, list) or not -len(value) <= place < len(value):
        raise PathSyntaxError("there is no such item")
    return value[place]


def _deviation(numbers: list[float]) -> float:
    count, total = len(numbers), sum(numbers)
    squares = sum(number * number for number in numbers)
    return math.sqrt(max(squares / count - total * total / count / count, 0.0))


# Those without arguments.
PLAIN: dict[str, Callable[[Any], Any]] = {
    "length": _length,
    "size": _length,
    "keys": _keys,
    "min": lambda value: min(_numbers(value)),
    "max": lambda value: max(_numbers(value)),
    "sum": lambda value: sum(_numbers(value)),
    "avg": lambda value: statistics.fmean(_numbers(value)),
    "stddev": lambda value: _deviation(_numbers(value)),
    "first": lambda value: _at(value, 0),
    "last": lambda value: _at(value, -1),
    "concat": _concat,
}


def function_named(name: str, arguments: str) -> Callable[[Any], Any]:
    """The function with a name and the text of its arguments.

    Raises:
        PathSyntaxError: there is none.
    """
    arguments = arguments.strip()
    if name == "index" and arguments.lstrip("-").isdigit():
        place = int(arguments)
        return lambda value: _at(value, place)
    if name not in PLAIN or arguments:
        raise PathSyntaxError(f"there is no function {name}({arguments})")
    return PLAIN[name]
