"""A table as notebooks show it: its columns, and some of its first lines.

In: a `Table`.  Out: HTML.  A job runs for it, and ends after a few lines or seconds.
Next: datastream/preview.py, which does the same for streams
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from headrace.datastream.preview import Preview, fill
from headrace.errors import HeadraceError
from headrace.table.cell_texts import cell_text

if TYPE_CHECKING:
    from headrace.common.types import Row
    from headrace.table.resolved import ResolvedSchema
    from headrace.table.table import Table

_LINES, _TIMEOUT_S, _END_S = 10, 5.0, 30.0
# A cell that shows a table has to come back, also when nobody answers at the other end.
_START_S = 60.0
_MORE = "execute().print() shows all of them, limit(n).to_pandas() some"


def html_preview(table: Table) -> str:
    """The columns of a table and its first lines; if it cannot be computed, why."""
    schema = table.get_resolved_schema()
    try:
        found = _preview(table)
    except HeadraceError as error:
        reason = f"<pre>{html.escape(str(error))}</pre>"
        return f"<div>{_lines_html(schema, Preview(), '')}{reason}</div>"
    zone = table._t_env.get_config().get_local_timezone()
    return f"<div>{_lines_html(schema, found, zone)}<p>{html.escape(_note(found))}</p></div>"


def _preview(table: Table) -> Preview:
    result = table.execute()
    client = result.get_job_client()
    assert client is not None
    found, job = Preview(), client._job
    with result.collect() as rows:
        rows.is_warm = lambda: job.is_warm
        found.stopped_because = fill(found, rows, _LINES, _TIMEOUT_S, _START_S)
    job.wait(_END_S)
    return found


def _note(found: Preview) -> str:
    count = "1 line" if len(found) == 1 else f"{len(found)} lines"
    if found.stopped_because is not None:
        return f"{count}; {found.stopped_because}; {_MORE}"
    return f"the first {count}; {_MORE}" if len(found) == _LINES else count


def _lines_html(schema: ResolvedSchema, rows: list[Row], zone: str) -> str:
    """A table; changes that are no additions have their kind in a column of its own."""
    names, types = schema.get_column_names(), schema.get_column_data_types()
    kinds = any(str(row.get_row_kind()) != "+I" for row in rows)
    titles = "".join(
        f"<th>{html.escape(name)}<br><small>{html.escape(str(kind))}</small></th>"
        for name, kind in zip(names, types, strict=True)
    )
    lines = []
    for row in rows:
        cells = [_cell(value, kind, zone) for value, kind in zip(row, types, strict=True)]
        shown = [str(row.get_row_kind()), *cells] if kinds else cells
        lines.append("".join(f"<td>{html.escape(cell)}</td>" for cell in shown))
    head = f"{'<th>op</th>' if kinds else ''}{titles}"
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any, kind: Any, zone: str) -> str:
    return "NULL" if value is None else cell_text(value, kind, zone)
