"""The end of a chain: hands records to the writer of a Sink, and its committables to the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.data.codec import DoesNotFit, codec_for
from headrace.data.records import Records
from headrace.errors import HeadraceError
from headrace.runtime.chain import is_change, type_mismatch
from headrace.runtime.operators.base import Operator, OperatorRuntime
from headrace.spi.sink import WriterContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.common.typeinfo import TypeInformation
    from headrace.spi.sink import Sink, SinkWriter


class SinkOperator(Operator):
    """One sink in one subtask; a new writer for every batch, made when the first record comes."""

    def __init__(self, sink: Sink, type_info: TypeInformation | None) -> None:
        self.sink = sink
        self.type_info = type_info

    def with_types(self, known: Callable[[TypeInformation], TypeInformation]) -> SinkOperator:
        return self if self.type_info is None else SinkOperator(self.sink, known(self.type_info))

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.writer: SinkWriter | None = None
        codec = None if self.type_info is None else codec_for(self.type_info)
        self.codec = None if codec is None or codec.schema is None else codec

    def begin_batch(self) -> None:
        if self.writer is not None:
            self.writer.abort()  # left by an attempt that failed in this process
            self.writer = None

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        try:
            if self.writer is None:
                self.writer = self.sink.create_writer(self._context())
            self._write(self.writer, self._as_declared(records))
        except HeadraceError as error:
            raise self.failed(error) from error
        except Exception as error:
            raise self.failed(error, None) from error

    def _as_declared(self, records: Records) -> Records:
        """The records in the form of their declared type: here they leave the program.

        Within a chain records pass as the functions made them; a tuple returned where a row is
        declared becomes a row at the sink, as it does in PyFlink.
        """
        if self.codec is None:
            return records
        try:
            return Records(
                timestamps=records.timestamps, batch=records.encoded(self.codec), codec=self.codec
            )
        except DoesNotFit as misfit:
            if self.runtime.lenient or is_change(misfit.value):
                return records
            raise type_mismatch(
                misfit, self.runtime.upstream, self.runtime.upstream_where
            ) from None

    def _write(self, writer: SinkWriter, records: Records) -> None:
        batch = records.batch
        if batch is None or not writer.write_arrow(batch, records.timestamps):
            writer.write(records.values, records.timestamps)

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
            epochs_overlap=runtime.epochs_overlap,
        )

    def messages(self) -> Iterator[Any]:
        yield from self._written("commit")

    def news(self) -> Iterator[Any]:
        if self.sink.acts_at_once:
            yield from self._written("deliver")

    def _written(self, what: str) -> Iterator[Any]:
        if self.writer is not None:
            try:
                committables = self.writer.prepare_commit()
            except Exception as error:
                raise self.failed(error) from error
            self.writer = None
            if committables:
                yield (what, self.runtime.uid, committables)
