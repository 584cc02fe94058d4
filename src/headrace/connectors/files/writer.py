"""Stages the records of one subtask and batch in hidden files, one or more a bucket.

In: lists of records (runtime/chain.py).  Out: `FileCommittable`s.  Next: committer.py
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Protocol

from headrace.common.clock import processing_time
from headrace.connectors.files.manifest import FileCommittable, SinkPlaces
from headrace.errors import ConnectorError, TypeMismatchError
from headrace.formats.bulk_writers import ParquetWriter
from headrace.spi.sink import SinkWriter, WriterContext

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.common.typeinfo import TypeInformation
    from headrace.formats.bulk_writers import BulkWriter
    from headrace.io.storage import Storage

CHUNK_RECORDS = 1000
FIRST_CHUNK_RECORDS = 64
# An open Parquet file holds up to a row group: more buckets than this take turns.
MAX_OPEN_FILES = 64

_log = logging.getLogger(__name__)


class CreateBulkWriter(Protocol):
    """Makes the writer of a new file."""

    def create(self, out: IO[bytes], type_info: TypeInformation | None) -> BulkWriter:
        """A writer to an open stream, for records of a type (None: untyped)."""


class AssignBuckets(Protocol):
    """Tells the bucket of records."""

    def buckets(
        self, values: list[Any], timestamps: list[int] | None, now_ms: int
    ) -> str | list[str]:
        """One bucket for all, or the bucket of each."""


class RollFiles(Protocol):
    """Tells when a file is full."""

    def should_roll(self, size_bytes: int, age_ms: int) -> bool:
        """Whether the next record belongs in a new file."""

    @property
    def max_bytes(self) -> int | None:
        """Size at which files are full, when the policy looks at the size."""


class FileWriter(SinkWriter):
    """The writer of a file sink."""

    def __init__(
        self,
        storage: Storage,
        context: WriterContext,
        writers: CreateBulkWriter,
        assigner: AssignBuckets,
        policy: RollFiles,
    ) -> None:
        self._storage = storage
        self._context = context
        self._layout = SinkPlaces(context.job_id, context.sink_uid)
        self._writers = writers
        self._assigner = assigner
        self._policy = policy
        self._open: OrderedDict[str, _OpenFile] = OrderedDict()
        self._staged: list[FileCommittable] = []
        self._opened = 0

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Appends records to the files of their buckets."""
        buckets = self._assigner.buckets(values, timestamps, processing_time())
        if isinstance(buckets, str):
            self._append(buckets, values)
            return
        groups: dict[str, list[Any]] = {}
        for bucket, value in zip(buckets, values, strict=True):
            groups.setdefault(bucket, []).append(value)
        for bucket, group in groups.items():
            self._append(bucket, group)

    def write_arrow(self, batch: pa.RecordBatch, timestamps: list[int] | None) -> bool:
        """Appends records that already are columns of the stream's type, without a detour.

        Returns:
            False, with nothing written, when the format or the bucket assigner needs the records
            themselves; then the caller decodes them and calls ``write``.
        """
        buckets = self._assigner.buckets([], timestamps, processing_time())
        if not isinstance(buckets, str):
            return False
        file = self._file_of(buckets)
        if not isinstance(file.writer, ParquetWriter) or not file.writer.takes(batch.schema):
            return False
        with self._storage.explained("write", file.path):
            file.writer.write_arrow(batch)
        file.rows += batch.num_rows
        self._roll_if_full(buckets, file)
        return True

    def prepare_commit(self) -> list[Any]:
        """Finishes all files."""
        for bucket in list(self._open):
            self._finish(bucket)
        return list(self._staged)

    def abort(self) -> None:
        """Deletes what this writer staged; what cannot be deleted is swept by the next commit."""
        paths = [file.staged for file in self._staged] + [f.path for f in self._open.values()]
        for file in self._open.values():
            with contextlib.suppress(Exception):
                file.out.close()
        for path in paths:
            try:
                self._storage.delete(path)
            except ConnectorError:
                _log.warning("left %r behind; a later commit removes it", path, exc_info=True)
        self._open.clear()
        self._staged.clear()

    def _append(self, bucket: str, values: list[Any]) -> None:
        start = 0
        while start < len(values):
            file = self._file_of(bucket)
            count = file.next_chunk(self._policy.max_bytes)
            chunk = values[start : start + count]
            with self._storage.explained("write", file.path):
                file.writer.write(chunk)
            file.rows += len(chunk)
            start += len(chunk)
            self._roll_if_full(bucket, file)

    def _file_of(self, bucket: str) -> _OpenFile:
        file = self._open.get(bucket)
        if file is None:
            if len(self._open) >= MAX_OPEN_FILES:
                self._finish(next(iter(self._open)))
            file = self._open[bucket] = self._new_file(bucket)
        self._open.move_to_end(bucket)
        return file

    def _new_file(self, bucket: str) -> _OpenFile:
        check_bucket(bucket)
        context = self._context
        path = self._layout.staged(
            context.batch_id, context.subtask_index, context.attempt, self._opened
        )
        self._opened += 1
        out = self._storage.open_output(path)
        return _OpenFile(path, out, self._writers.create(out, context.type_info))

    def _roll_if_full(self, bucket: str, file: _OpenFile) -> None:
        if self._policy.should_roll(file.writer.size_bytes(), file.age_ms()):
            self._finish(bucket)

    def _finish(self, bucket: str) -> None:
        file = self._open[bucket]
        with self._storage.explained("write", file.path):
            file.writer.finish()
            size = file.out.tell()
            file.out.close()
        self._storage.seal(file.path)
        del self._open[bucket]
        if file.rows == 0:
            self._storage.delete(file.path)
            return
        self._staged.append(
            FileCommittable(
                staged=file.path,
                bucket=bucket,
                subtask=self._context.subtask_index,
                part=len(self._staged),
                rows=file.rows,
                size_bytes=size,
                shape=file.writer.shape(),
            )
        )


@dataclass(slots=True)
class _OpenFile:
    path: str
    out: IO[bytes]
    writer: BulkWriter
    rows: int = 0
    born: float = field(default_factory=time.monotonic)

    def age_ms(self) -> int:
        return int((time.monotonic() - self.born) * 1000)

    def next_chunk(self, max_bytes: int | None) -> int:
        """How many records to write before asking again whether the file is full."""
        if max_bytes is None:
            return CHUNK_RECORDS
        size = self.writer.size_bytes()
        if not self.rows or not size:
            return FIRST_CHUNK_RECORDS
        left = (max_bytes - size) * self.rows // size
        return max(1, min(left, CHUNK_RECORDS))


def check_bucket(bucket: Any) -> None:
    """Refuses bucket names that would leave the output folder or hide the files.

    Raises:
        TypeMismatchError: the bucket is not text, or not a usable relative path.
    """
    if isinstance(bucket, str):
        parts = bucket.split("/") if bucket else []
        if not any(_bad_part(part) for part in parts):
            return
    raise TypeMismatchError(
        f"the bucket assigner returned {bucket!r} ({type(bucket).__name__}), which is not a "
        "usable folder name",
        where="file sink, with_bucket_assigner",
        fix="return a relative path such as 'de' or 'country=de/day=2024-05-01': no empty part, no "
        "'..', nothing that begins with '_' or '.' (readers skip such folders)",
    )


def _bad_part(part: str) -> bool:
    return not part or part[0] in "_." or "\\" in part or "\0" in part
