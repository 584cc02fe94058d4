"""Answers: JSON, and errors in Flink's shape.

    HeadraceError ─▶ status (by its class) and {"errors": ["…"]}, with our parts beside it

In: values and errors.  Out: Starlette responses.

Flink's own client takes a body for an error only if ``errors`` is its one key, and reads anything
else as the answer that it waits for: a refused cancel would look like a done one.  It sends no
header Accept, browsers and other clients do: only those get ``kind``, ``where`` and ``fix`` too.
"""

from __future__ import annotations

import json
import logging
import math
from typing import TYPE_CHECKING

from starlette.responses import Response

from headrace.common.sensitive import masked_text
from headrace.errors import (
    ConnectorError,
    HeadraceError,
    InternalError,
    JobError,
    JobNameInUseError,
    JobNotFoundError,
    NotLeaderError,
    PlanError,
    ProgramError,
    SavepointError,
    StateError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from headrace.common.opaque import JsonObject, JsonValue

log = logging.getLogger(__name__)

# What an error means over HTTP; the first class that fits counts.
STATUS: tuple[tuple[type[HeadraceError], int], ...] = (
    (JobNotFoundError, 404),
    (NotLeaderError, 503),
    (JobNameInUseError, 409),
    (JobError, 409),
    (SavepointError, 409),
    (StateError, 409),
    (ProgramError, 400),
    (PlanError, 400),
    (ConnectorError, 502),
)


class JsonAnswer(Response):
    """A value as JSON; NaN as Flink writes it."""

    media_type = "application/json"

    def render(self, content: JsonValue) -> bytes:
        """The bytes of the body."""
        try:
            text = json.dumps(content, separators=(",", ":"), allow_nan=False, default=str)
        except ValueError:  # rare, so the walk through all values is paid only then
            text = json.dumps(_without_nan(content), separators=(",", ":"), default=str)
        return text.encode()


def _without_nan(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_nan(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value).replace("nan", "NaN").replace("inf", "Infinity")
    return value


class Refusal(HeadraceError):
    """A request that cannot be served, with its status.

    Args:
        status: of HTTP.
        headers: for the answer.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        where: object = None,
        fix: str | None = None,
        kind: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, where=where, fix=fix)
        self.status = status
        self.kind = kind
        self.headers = dict(headers or {})

    @property
    def condition(self) -> str:
        """The name that clients and tests go by."""
        return self.kind or "REFUSAL"


def not_found(message: str, fix: str | None = None) -> Refusal:
    """There is no such thing."""
    return Refusal(404, message, fix=fix, kind="NOT_FOUND")


def status_of(error: BaseException) -> int:
    """The status of HTTP that an error means."""
    if isinstance(error, Refusal):
        return error.status
    return next((status for kind, status in STATUS if isinstance(error, kind)), 500)


def error_body(error: BaseException, *, with_parts: bool) -> JsonObject:
    """An error as Flink writes it, and with our parts beside it for those who can tell."""
    if not isinstance(error, HeadraceError):
        # what an unexpected error says may be anything, a password too: it goes to the log only
        error = InternalError("the dispatcher failed to answer; its log has the reason")
    body: JsonObject = {"errors": [masked_text(str(error))]}
    return body | error_parts(error) if with_parts else body


def error_parts(error: HeadraceError) -> JsonObject:
    """Our parts of an error, without the secrets that an outside system may have put into it."""
    return {
        "kind": error.condition,
        "message": masked_text(error.message),
        "where": None if error.where is None else masked_text(error.where),
        "fix": error.fix,
    }


def error_answer(request: Request, error: BaseException) -> Response:
    """The answer to a request that failed."""
    status = status_of(error)
    if status >= 500 and not isinstance(error, Refusal):
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    headers = error.headers if isinstance(error, Refusal) else {}
    with_parts = "accept" in request.headers
    return JsonAnswer(error_body(error, with_parts=with_parts), status, headers=headers)
