"""Files with secrets: written as a whole, and readable for nobody but their owner.

In: plain data.  Out: the file with mode 0600, from its first moment on.
"""

from __future__ import annotations

import json
import os
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.common.opaque import JsonObject


def write_private(path: Path, content: JsonObject) -> None:
    """Write or replace a small file of JSON."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            json.dump(content, stream, indent=1)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
