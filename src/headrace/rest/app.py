"""The web application: guard, routes, dashboard, errors.

In: a dispatcher and settings.  Out: an ASGI application, which rest/server.py serves.
Next: rest/guard.py (the door), rest/routes/
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation
from starlette.responses import Response

from headrace import __version__
from headrace.control.views.reader import JobViews
from headrace.dashboard import SECURITY_HEADERS, assets
from headrace.errors import HeadraceError
from headrace.rest.answer_cache import AnswerCache
from headrace.rest.answers import Refusal, error_answer
from headrace.rest.api_page import API_PATHS, api_page
from headrace.rest.backend import Backend
from headrace.rest.bad_requests import bad_request
from headrace.rest.guard import RequestGuard
from headrace.rest.routes import (
    applications,
    checkpoints,
    cluster,
    executor_logs,
    executors,
    exposition,
    flame_graphs,
    jobs,
    operations,
    programs,
    records,
    threads,
    vertices,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from headrace.common.opaque import JsonObject
    from headrace.dashboard import Asset
    from headrace.dispatcher.dispatcher import Dispatcher
    from headrace.rest.settings import RestSettings

# Paths with a word come before those with an id in the same place.
_ROUTERS = (
    cluster.router,
    exposition.router,
    jobs.router,
    applications.router,
    checkpoints.router,
    operations.router,
    vertices.router,
    flame_graphs.router,
    executors.router,
    executor_logs.router,
    threads.router,
    records.router,
    programs.router,
)
_KINDS = {404: "NOT_FOUND", 400: "BAD_REQUEST", 413: "BODY_TOO_LARGE"}


def create_app(
    dispatcher: Dispatcher,
    settings: RestSettings,
    *,
    views: JobViews | None = None,
    shut_down: Callable[[], None] | None = None,
) -> FastAPI:
    """The application of a dispatcher.

    Args:
        dispatcher: acts.
        settings: whom to let in.
        views: reads; those of the dispatcher's registry if not given.
        shut_down: ends the process, for ``DELETE /cluster``.

    Raises:
        ConfigurationError: strangers could come in.
    """
    settings.check()
    app = FastAPI(
        title="headrace",
        version=__version__,
        description="Flink's REST API for jobs that run on Spark.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        separate_input_output_schemas=False,
    )
    app.state.backend = Backend(
        dispatcher, views or JobViews(dispatcher.registry), settings, shut_down
    )
    for router in _ROUTERS:
        app.include_router(router)
        app.include_router(router, prefix="/v1", include_in_schema=False)  # as Flink's clients ask
    _answer_errors(app)
    files = {"/" if name == "index.html" else f"/{name}": file for name, file in assets().items()}
    for path, file in files.items():
        app.add_api_route(path, _file_route(file), methods=["GET", "HEAD"], include_in_schema=False)
    for path in API_PATHS:
        app.add_api_route(path, partial(api_page, path), methods=["GET"], include_in_schema=False)
    _describe_security(app, settings)
    app.add_middleware(AnswerCache)
    app.add_middleware(  # the last one added is the first to see a request
        RequestGuard,
        settings=settings,
        open_paths=[*files, *API_PATHS, "/openapi.json"],
        leader=partial(_leader_elsewhere, dispatcher),
    )
    return app


def _leader_elsewhere(dispatcher: Dispatcher) -> str | None:
    """The address of another dispatcher that leads; "" if this one does, None if nobody."""
    if dispatcher.is_leader:
        return ""
    leader = dispatcher.leader
    return None if leader is None or not leader.address else leader.address


def _file_route(file: Asset) -> Callable[[Request], Coroutine[None, None, Response]]:
    async def serve(request: Request) -> Response:
        headers = {**SECURITY_HEADERS, "ETag": file.etag}
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        return Response(file.content, media_type=file.media_type, headers=headers)

    return serve


# --- errors --------------------------------------------------------------------------------------


def _answer_errors(app: FastAPI) -> None:
    async def failed(request: Request, error: Exception) -> Response:
        return error_answer(request, error)

    async def refused(request: Request, error: Exception) -> Response:
        if isinstance(error.__cause__, Refusal):  # of the guard, while FastAPI read the body
            return error_answer(request, error.__cause__)
        return error_answer(request, _told(request, cast("HTTPException", error)))

    async def malformed(request: Request, error: Exception) -> Response:
        faults = cast("RequestValidationError", error).errors()
        return error_answer(request, bad_request(faults))

    app.add_exception_handler(HeadraceError, failed)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(Exception, failed)


def _told(request: Request, error: HTTPException) -> Refusal:
    """The refusal of a request that no route takes; as in Flink a wrong verb is a 404, too."""
    what = f"{request.method} {request.url.path[:200]}: {error.detail}"
    headers = dict(error.headers or {})
    if error.status_code == 405:
        fix = f"this path has {headers['Allow']}" if "Allow" in headers else None
        return Refusal(404, what, fix=fix, kind="METHOD_NOT_ALLOWED", headers=headers)
    kind = _KINDS.get(error.status_code, "REFUSED")
    return Refusal(error.status_code, what, kind=kind, headers=headers)


# --- the description -----------------------------------------------------------------------------


def _describe_security(app: FastAPI, settings: RestSettings) -> None:
    plain = app.openapi

    def described() -> JsonObject:
        document = plain()
        schemes = document.setdefault("components", {}).setdefault("securitySchemes", {})
        if settings.tokens is not None and "token" not in schemes:
            schemes["token"] = {"type": "http", "scheme": "bearer"}
            document["security"] = [{"token": []}]
        _describe_errors(document)
        return document

    app.openapi = described  # type: ignore[method-assign]


def _describe_errors(document: JsonObject) -> None:
    """Every path may refuse: with Flink's body."""
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Errors"] = {
        "type": "object",
        "required": ["errors"],
        "properties": {
            "errors": {"type": "array", "items": {"type": "string"}},
            **{name: {"type": ["string", "null"]} for name in ("kind", "message", "where", "fix")},
        },
    }
    refused = {
        "description": "Refused, or failed.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Errors"}}},
    }
    for path in document.get("paths", {}).values():
        for operation in path.values():
            responses = operation["responses"]
            responses.pop("422", None)  # a fault of a request is a 400, as in Flink
            responses["default"] = refused
