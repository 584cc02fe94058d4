"""The `headrace` command: run programs, and look after the jobs of this machine.

Next: cli/main.py puts the commands together, one module for each group.
"""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """What the installed `headrace` command calls."""
    from headrace.cli.main import app

    app(prog_name="headrace")
