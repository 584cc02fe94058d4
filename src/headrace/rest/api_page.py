"""The page `/docs`: the OpenAPI document for people, by a script of our own.

In: /openapi.json, read by the browser.  Out: a page, a script and a style.  No library: those that
draw such pages come from other servers, or bring a megabyte of script.
"""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response

_FOLDER = Path(__file__).parent / "docs_page"
_FILES = {
    "/docs": ("index.html", "text/html; charset=utf-8"),
    "/docs/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/docs/page.css": ("page.css", "text/css; charset=utf-8"),
}
API_PATHS = tuple(_FILES)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def api_page(path: str) -> Response:
    """One file of the page."""
    name, media_type = _FILES[path]
    content = (_FOLDER / name).read_bytes()
    return Response(content, media_type=media_type, headers={"Content-Security-Policy": _POLICY})
