"""Merges several committed files into one, streaming.

In: paths of pending files (connectors/files/committer.py).  Out: one file.  `FileCompactor` of
connectors/files/sink_options.py chooses between these.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from headrace.io.storage import Storage

_COPY_BYTES = 1 << 20
_HEADER_BYTES = 1 << 16


class MergeFiles(Protocol):
    """Writes the content of some files, in order, to one new file."""

    def __call__(self, storage: Storage, sources: list[str], target: str) -> None:
        """Reads `sources`, writes `target`; replaces what a broken earlier try left there."""


@dataclass(frozen=True, slots=True)
class ConcatenateFiles:
    """Copies bytes one after the other.

    Attributes:
        delimiter: put between two files.
        header_end: leave out all up to and with this text in every file but the first; for CSV
            with a header line.
    """

    delimiter: bytes = b""
    header_end: bytes | None = None

    def __call__(self, storage: Storage, sources: list[str], target: str) -> None:
        """See `MergeFiles`."""
        with storage.open_output(target) as out:
            for number, source in enumerate(sources):
                with storage.open_input(source) as content:
                    if number:
                        out.write(self.delimiter)
                        out.write(self._after_header(content))
                    shutil.copyfileobj(content, out, _COPY_BYTES)

    def _after_header(self, content: IO[bytes]) -> bytes:
        if self.header_end is None:
            return b""
        head = b""
        while self.header_end not in head:
            piece = content.read(_HEADER_BYTES)
            if not piece:
                return b""
            head += piece
        return head.partition(self.header_end)[2]


@dataclass(frozen=True, slots=True)
class MergeParquet:
    """Rewrites Parquet files as one, collecting small row groups into larger ones.

    Attributes:
        row_group_bytes: a row group is written when this much data has been read.
    """

    row_group_bytes: int = 64 << 20

    def __call__(self, storage: Storage, sources: list[str], target: str) -> None:
        """See `MergeFiles`."""
        with storage.open_input(sources[0]) as first:
            head = pq.ParquetFile(first)
            schema = head.schema_arrow
            codec = _compression(head)
        with (
            storage.open_output(target) as out,
            pq.ParquetWriter(out, schema, compression=codec) as writer,
        ):
            held: list[pa.RecordBatch] = []
            held_bytes = 0
            for source in sources:
                with storage.open_input(source) as content:
                    file = pq.ParquetFile(content)
                    self._check_schema(schema, file.schema_arrow, source, storage)
                    for batch in file.iter_batches():
                        held.append(batch)
                        held_bytes += batch.nbytes
                        if held_bytes >= self.row_group_bytes:
                            writer.write_table(pa.Table.from_batches(held, schema))
                            held, held_bytes = [], 0
            if held:
                writer.write_table(pa.Table.from_batches(held, schema))

    @staticmethod
    def _check_schema(expected: object, found: object, source: str, storage: Storage) -> None:
        if expected != found:
            raise ConnectorError(
                f"pending files have different columns and cannot be merged: {source!r} has "
                f"{found}, the first has {expected}",
                where=str(storage),
                fix="declare the stream's type (output_type=Types.ROW_NAMED(...)), so that every "
                "file gets the same columns",
            )


def _compression(file: pq.ParquetFile) -> str:
    if file.metadata.num_row_groups == 0 or file.metadata.num_columns == 0:
        return "snappy"
    name = str(file.metadata.row_group(0).column(0).compression).lower()
    return "none" if name == "uncompressed" else name
