"""Requests that cannot be read, in plain words.

    pydantic's faults of a path, a query or a body ─▶ one Refusal: what, where, fix

In: RequestValidationError's list.  Out: a Refusal (400).  Values of a query or a body are not
repeated, since they may be secrets; ids in a path are.  Next: rest/app.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.rest.answers import Refusal
from headrace.rest.backend import HEX_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.opaque import JsonObject

_IDS = {
    "jobid": "job id",
    "applicationid": "application id",
    "vertexid": "vertex id",
    "triggerid": "trigger id",
}
_BODY_FIX = (
    "a JSON object with the header Content-Type: application/json, for instance "
    """curl -H 'Content-Type: application/json' -d '{"parallelism": 4}'"""
)
# by the type of pydantic's fault: what must be there instead, from the fault's context
_EXPECTED: dict[str, Callable[[JsonObject], str]] = {
    "missing": lambda _: "be given",
    "int_parsing": lambda _: "be a whole number",
    "int_type": lambda _: "be a whole number",
    "int_from_float": lambda _: "be a whole number",
    "bool_parsing": lambda _: "be true or false",
    "bool_type": lambda _: "be true or false",
    "string_type": lambda _: "be a text",
    "list_type": lambda _: "be a list",
    "dict_type": lambda _: "be an object",
    "model_attributes_type": lambda _: "be an object",
    "greater_than_equal": lambda context: f"be at least {context['ge']}",
    "less_than_equal": lambda context: f"be at most {context['le']}",
    "literal_error": lambda context: f"be {context['expected']}",
    "string_too_short": lambda context: f"have at least {context['min_length']} characters",
    "string_too_long": lambda context: f"have at most {context['max_length']} characters",
    "string_pattern_mismatch": lambda context: (
        "be 32 hexadecimal digits"
        if context["pattern"] == HEX_ID
        else f"match {context['pattern']}"
    ),
}


def bad_request(faults: Sequence[JsonObject]) -> Refusal:
    """The refusal of a request with these faults."""
    told = "; ".join(_what(fault) for fault in faults[:5])
    places = dict.fromkeys(str(fault.get("loc", ("request",))[0]) for fault in faults[:5])
    fix = _BODY_FIX if any(_is_no_object(fault) for fault in faults) else None
    return Refusal(400, told, where=", ".join(places), fix=fix, kind="BAD_REQUEST")


def _what(fault: JsonObject) -> str:
    kind, context = fault.get("type", ""), fault.get("ctx", {})
    _, *names = fault.get("loc", ("request",))
    if kind == "json_invalid":
        return f"the body is no JSON: {context.get('error', 'it cannot be read')}{_at(names)}"
    if _is_no_object(fault):
        return "the body is no JSON object"
    name = ".".join(str(part) for part in names)[:200]
    if name in _IDS:
        return f"{str(fault.get('input'))[:64]!r} is no {_IDS[name]}: 32 hexadecimal digits"
    expected = _EXPECTED.get(kind)
    if expected is None:
        return f"{name}: {fault.get('msg', 'it cannot be read')}"
    return f"{name or 'the body'} must {expected(context)}"


def _is_no_object(fault: JsonObject) -> bool:
    """Whether the whole body is something else than a JSON object."""
    of_body = ("json_invalid", "model_attributes_type", "dict_type", "missing")
    place = fault.get("loc", ())
    whole = fault.get("type") == "json_invalid" or len(place) == 1
    return bool(place) and place[0] == "body" and whole and fault.get("type") in of_body


def _at(names: Sequence[object]) -> str:
    return f" at character {names[0]}" if names else ""
