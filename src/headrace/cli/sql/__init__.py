"""`headrace sql`: statements from a prompt, a file or the command line.

In: text of SQL.  Out: tables, changelogs or JSON.  Next: cli/sql/command.py has the command,
cli/sql/script.py parts text into statements, cli/sql/client.py executes them
"""

from __future__ import annotations

from headrace.cli.sql.command import register

__all__ = ["register"]
