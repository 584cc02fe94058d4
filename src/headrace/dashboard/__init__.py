"""The dashboard: files that a browser loads and that ask the REST API for all they show.

In: nothing but its own folder.  Out: `assets()`, which rest/ serves at `/` with SECURITY_HEADERS.
Next: dashboard/static/js/main.js; dashboard/README.md names the answers that it reads.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_FOLDER = Path(__file__).parent / "static"
# From Python's table of media types it would depend on the machine's /etc/mime.types.
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}

# No script, style or answer from elsewhere, nothing inline, and no page around ours.
SECURITY_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
        "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        # A new version of headrace brings new files; the ETag makes asking cheap.
        "Cache-Control": "no-cache",
    }
)


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the dashboard.

    Attributes:
        content: its bytes.
        media_type: for Content-Type.
        etag: a quoted hash of the content.
    """

    content: bytes
    media_type: str
    etag: str


@cache
def assets() -> Mapping[str, Asset]:
    """All files by their path in the URL: `index.html`, `js/main.js`, ...

    `index.html` belongs at `/`.  Nothing else is ever read, whatever path a request names.
    """
    files = (file for file in sorted(_FOLDER.rglob("*")) if file.suffix in _MEDIA_TYPES)
    return MappingProxyType({file.relative_to(_FOLDER).as_posix(): _read(file) for file in files})


def _read(file: Path) -> Asset:
    content = file.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:32]
    return Asset(content, _MEDIA_TYPES[file.suffix], f'"{digest}"')
