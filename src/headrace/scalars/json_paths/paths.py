"""A path of SQL/JSON over a document: lax or strict.

    lax $.a      what is not there is empty            strict $.a     what is not there is an error
    $.a          strict

In: the text of a document and of a path.  Out: a value, nothing (None), or `JsonPathProblemError`.
Next: scalars/json_paths/compiler.py
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from headrace.scalars.json_paths.compiler import CompiledPath, compile_path
from headrace.scalars.json_paths.documents import NotJsonError, parse
from headrace.scalars.json_paths.steps import PathMissingError, PathSyntaxError

_MODE = re.compile(r"\s*(strict|lax)\s+(.+)", re.IGNORECASE | re.DOTALL)


class JsonPathProblemError(Exception):
    """What ON ERROR is for: no JSON, no path, or nothing at the place in strict mode."""


class PathInMode(NamedTuple):
    """A path and its mode; `problem` instead of a path if its text is none."""

    lax: bool
    path: CompiledPath | None
    problem: str = ""


@lru_cache(maxsize=1024)
def path_in_mode(text: str) -> PathInMode:
    """The mode and the path of a text; strict if it names no mode."""
    found = _MODE.fullmatch(text)
    lax = found is not None and found[1].lower() == "lax"
    try:
        return PathInMode(lax, compile_path(text if found is None else found[2]))
    except PathSyntaxError as error:
        return PathInMode(lax, None, str(error))


def read(document: str, path: PathInMode) -> Any:
    """What a path leads to; None if that is nothing, or null.

    Raises:
        JsonPathProblemError: an error for ON ERROR.
    """
    try:
        value = parse(document)
    except NotJsonError as error:
        if path.lax:
            return None
        raise JsonPathProblemError(f"the document is not JSON: {error}") from None
    if path.path is None:
        raise JsonPathProblemError(f"the path is none: {path.problem}")
    try:
        found = path.path.read(value, value, lenient=path.lax)
    except (PathMissingError, PathSyntaxError) as error:
        if path.lax:
            return None
        raise JsonPathProblemError(str(error)) from None
    if found is None and not path.lax:
        raise JsonPathProblemError("there is null at the path, which strict mode does not take")
    return found
