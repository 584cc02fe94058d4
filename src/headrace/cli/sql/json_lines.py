"""Results as JSON, one object a line: for programs that run `headrace sql --json`.

    {"kind": "+I", "row": {"name": "tea", "n": 1}}      a line of a query, with its change
    {"job_id": "3f2a...", "name": "insert-into_t", "state": "RUNNING"}
    {"result": "OK"}                                    a statement with nothing to show
    {"error": {...}}                                    the parts of an error

In: results of statements.  Out: lines.  Next: cli/sql/display.py shows them to people
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from headrace.cli.sql.display import ShownJob, put, rows_of
from headrace.cli.sql.progress import ProgressLine
from headrace.common import data_types as t
from headrace.common.types import Row
from headrace.table.cell_texts import cell_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.cli.sql.progress import StatementProgress
    from headrace.cli.sql.settings import DisplaySettings
    from headrace.common.data_types import DataType
    from headrace.common.opaque import JsonObject
    from headrace.table.table_result import TableResult

_PLAIN = (
    t.BooleanType,
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
    t.CharType,
    t.VarCharType,
)


class JsonDisplay:
    """Shows results to programs."""

    def ok(self) -> None:
        """A statement with nothing to show is done."""
        self._put({"result": "OK"})

    def known(self, result: TableResult) -> None:
        """Lines that are known."""
        self._put_rows(result, "UTC")

    def query(self, result: TableResult, how: DisplaySettings) -> None:
        """Lines of a job as they come."""
        self._put_rows(result, how.zone)

    def waiting(self, progress: StatementProgress) -> ProgressLine:
        """Programs have no use for it."""
        return ProgressLine(None)

    def submitted(self, job: ShownJob) -> None:
        """A job runs, and nobody waits for it."""
        self._put_job(job)

    def ended(self, job: ShownJob) -> None:
        """A job has ended."""
        self._put_job(job)

    def note(self, text: str) -> None:
        """Programs have no use for it."""

    def error(self, parts: JsonObject) -> None:
        """What went wrong."""
        self._put({"error": parts})

    def _put_job(self, job: ShownJob) -> None:
        self._put({"job_id": job.job_id, "name": job.name, "state": job.state})

    def _put_rows(self, result: TableResult, zone: str) -> None:
        schema = result.get_resolved_schema()
        columns = list(zip(schema.get_column_names(), schema.get_column_data_types(), strict=True))
        with result.collect() as rows:
            for row in rows_of(rows):
                values = {
                    name: json_value(value, kind, zone)
                    for (name, kind), value in zip(columns, row, strict=True)
                }
                self._put({"kind": str(row.get_row_kind()), "row": values})

    @staticmethod
    def _put(content: Mapping[str, object]) -> None:
        put(json.dumps(content, ensure_ascii=False, default=str))


def json_value(value: object, kind: DataType, zone: str) -> object:
    """A value as JSON has it; decimals, times and bytes are text, as SQL casts them."""
    if value is None or isinstance(kind, _PLAIN):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else cell_text(value, kind, zone)
    if isinstance(kind, t.RowType) and isinstance(value, Row | tuple | list):
        parts = zip(kind.field_names(), value, kind.field_types(), strict=True)
        return {name: json_value(item, inner, zone) for name, item, inner in parts}
    if isinstance(kind, t.ArrayType) and isinstance(value, list | tuple):
        return [json_value(item, kind.element_type, zone) for item in value]
    if isinstance(kind, t.MapType) and isinstance(value, dict):
        return {
            _key(key, kind.key_type, zone): json_value(item, kind.value_type, zone)
            for key, item in value.items()
        }
    return cell_text(value, kind, zone)


def _key(value: object, kind: DataType, zone: str) -> str:
    return "null" if value is None else cell_text(value, kind, zone)
