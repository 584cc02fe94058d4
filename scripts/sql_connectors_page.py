"""Writes docs/reference/sql-connectors.md: the connectors and formats of tables, and their options.

python scripts/sql_connectors_page.py           rewrites the page

What an option does is said where it is defined; tests/structure/test_sql_connectors_page.py holds
the page to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.connectors.tables import TABLE_CONNECTORS
from headrace.formats.tables.registry import TABLE_FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "sql-connectors.md"
HEAD = """# SQL connectors and formats

Written by `make golden` from the connectors in the code; do not edit.

`CREATE TABLE t (...) WITH ('connector' = '...', ...)`: names and meanings are Flink's, save for
those of `redis` and `spark`, which Flink does not have. An option that is not listed is refused,
with the names that are close to it. Options of a format have its name in front, as in
`'csv.field-delimiter' = ';'`, and behind `key.format` and `value.format` also `key.` or `value.`.

"""
_UNITS = {"duration": "ms", "memory": "bytes"}


def page() -> str:
    """The text."""
    return "\n".join([HEAD.rstrip("\n"), "", "## Connectors", "", *_connectors(),
                      "## Formats", "", *_formats()]).rstrip("\n") + "\n"  # fmt: skip


def _connectors() -> Iterator[str]:
    for connector in map(TABLE_CONNECTORS.new, TABLE_CONNECTORS.names()):
        if not type(connector).__module__.startswith("headrace."):
            continue  # of another package
        yield f"### `{connector.name}`"
        yield ""
        yield f"{connector.summary()}."
        yield ""
        required = [(each, True) for each in connector.required]
        yield from _table([*required, *((each, False) for each in connector.optional)])
        yield from _prefixes(connector.prefixes)


def _formats() -> Iterator[str]:
    for made in map(TABLE_FORMATS.new, TABLE_FORMATS.names()):
        if not type(made).__module__.startswith("headrace."):
            continue
        name = made.name
        yield f"### `{name}`"
        yield ""
        if not made.options:
            yield "No options."
            yield ""
        yield from _table([(each, False) for each in made.options], f"{name}.")
        yield from _prefixes(made.prefixes, f"{name}.")


def _prefixes(prefixes: tuple[str, ...], front: str = "") -> Iterator[str]:
    if prefixes:
        shown = ", ".join(f"`{front}{each}*`" for each in prefixes)
        yield f"And all that begin so, which are handed on: {shown}."
        yield ""


def _table(options: list[tuple[Any, bool]], front: str = "") -> Iterator[str]:
    if not options:
        return
    yield "| option | type | default | what it does |"
    yield "| --- | --- | --- | --- |"
    for each, required in options:
        default = "required" if required else _shown(each)
        kind = " or ".join(f"`{c}`" for c in each.choices) or each.type
        yield f"| `{front}{each.key}` | {kind} | {default} | {each.doc.replace('|', '&#124;')} |"
    yield ""


def _shown(option: Any) -> str:
    if option.default is None:
        return ""
    value = str(option.default).lower() if option.type == "boolean" else str(option.default)
    return f"`{value}`" + (f" {_UNITS[option.type]}" if option.type in _UNITS else "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
