"""The pattern of a case as a document of headrace, its conditions as texts of SQL.

In: cases.py's patterns.  Out: what `PatternDocument` reads.  Next: test_cep.py plays them to the
operator of patterns that come while a job runs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from oracle.cep.patterns import pattern_of

if TYPE_CHECKING:
    from oracle.cep.cases import Json

SKIPS = {"no_skip": "no_skip", "next": "to_next", "past_last": "past_last"}


def document_of(pattern: Json) -> dict[str, Any] | None:
    """The document; None for a case that headrace's API refuses.

    A document says of each thing how it is, once; a program may say it twice, which is an error.
    """
    try:
        pattern_of(pattern)
    except HeadraceError:
        return None
    found: dict[str, Any] = {"id": "case", "version": 1, "pattern": _stages(pattern["stages"])}
    skip = pattern.get("skip")
    if skip is not None:
        named = {f"to_{skip['to']}": skip.get("stage"), "or_fail": skip.get("throws", False)}
        found["skip"] = SKIPS.get(skip["to"], named)
    return found


def _stages(stages: Json) -> list[dict[str, Any]]:
    return [_stage(stage) for stage in stages]


def _stage(stage: Json) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "group" in stage:
        found["group"] = _stages(stage["group"]["stages"])
    else:
        found["name"] = stage["stage"]
    if stage["after"] != "begin":
        found["after"] = stage["after"]
    for name, *arguments in stage["calls"]:
        _say(found, name, arguments)
    return found


def _say(found: dict[str, Any], name: str, arguments: Json) -> None:
    match name, arguments:
        case "where" | "or_", [condition]:
            word, text = "OR" if name == "or_" else "AND", _text(*condition)
            found["where"] = f"({found['where']}) {word} ({text})" if "where" in found else text
        case "until", [condition]:
            found["until"] = _text(*condition)
        case "one_or_more", [window]:
            found |= {"times": [1, None], "times_within": window}
        case "times_or_more", [times, window]:
            found |= {"times": [times, None], "times_within": window}
        case "times", [times, window]:
            found |= {"times": times, "times_within": window}
        case "times_range", [low, high, window]:
            found |= {"times": [low, high], "times_within": window}
        case "within" | "within_previous", [time]:
            found[name] = time
        case _:
            found[name] = True


def _text(kind: str, argument: Any, limit: int = 0) -> str:
    prices = f"SUM({argument}.price)"
    none = f"COUNT({argument}.*) = 0"
    match kind:
        case "name":
            return f"name = '{argument}'"
        case "price_at_least":
            return f"price >= {argument}"
        case "above_last":
            return f"{none} OR price > LAST({argument}.price)"
        case "above_average":
            return f"price * COUNT({argument}.*) > {prices}"
        case "sum_below":
            return f"({none} AND price < {limit}) OR {prices} + price < {limit}"
    assert kind == "fewer_than"
    return f"COUNT({argument}.*) < {limit}"
