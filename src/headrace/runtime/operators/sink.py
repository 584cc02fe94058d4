"""The end of a chain: hands records to the writer of a Sink, and its committables to the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.datastream.connectors.sink import WriterContext
from headrace.errors import HeadraceError
from headrace.runtime.operators.base import Operator, OperatorRuntime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.typeinfo import TypeInformation
    from headrace.datastream.connectors.sink import Sink, SinkWriter
    from headrace.runtime.records import Records


class SinkOperator(Operator):
    """One sink in one subtask; a new writer for every batch, made when the first record comes."""

    def __init__(self, sink: Sink, type_info: TypeInformation | None) -> None:
        self.sink = sink
        self.type_info = type_info

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.writer: SinkWriter | None = None

    def begin_batch(self) -> None:
        if self.writer is not None:
            self.writer.abort()  # left by an attempt that failed in this process
            self.writer = None

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        try:
            if self.writer is None:
                self.writer = self.sink.create_writer(self._context())
            batch = records.batch
            if batch is None or not self.writer.write_arrow(batch, records.timestamps):
                self.writer.write(records.values, records.timestamps)
        except HeadraceError as error:
            raise self.failed(error) from error
        except Exception as error:
            raise self.failed(error, None) from error

    def _context(self) -> WriterContext:
        runtime = self.runtime
        return WriterContext(
            subtask_index=runtime.subtask,
            parallelism=runtime.parallelism,
            attempt=runtime.attempt,
            job_id=runtime.job_id,
            sink_uid=runtime.uid,
            batch_id=runtime.batch_id,
            type_info=self.type_info,
        )

    def messages(self) -> Iterator[Any]:
        if self.writer is not None:
            try:
                committables = self.writer.prepare_commit()
            except Exception as error:
                raise self.failed(error) from error
            self.writer = None
            if committables:
                yield ("commit", self.runtime.uid, committables)
