"""The folder in which headrace keeps what is this user's and this machine's.

In: ``$HEADRACE_HOME``, or ~/.headrace.  Out: its path: jobs/ (control/registry.py) and cache/
(hosts/spark/fast_start.py) are below it.
"""

from __future__ import annotations

import os
from pathlib import Path


def headrace_home() -> Path:
    """The folder, which need not exist yet."""
    return Path(os.environ.get("HEADRACE_HOME") or "~/.headrace").expanduser().absolute()
