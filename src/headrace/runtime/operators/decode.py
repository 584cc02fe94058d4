"""Decodes what a source hands over raw: all messages at once if the decoder can, else one by one.

In: raw columns of a source (spi/decoding.py).  Out: records with the timestamps of their messages.
A list in which one message cannot be decoded is gone through message by message, so that the bad
one is found and the others are kept.  Next: runtime/operators/timestamps.py
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.runtime.operators.base import Operator, OperatorRuntime
from headrace.spi.decoding import OnError

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.common.typeinfo import TypeInformation
    from headrace.spi.decoding import Decoding

__all__ = ["DecodeOperator"]

# Flink's name of the count of records that could not be processed.
ERRORS = "numRecordsInErrors"

log = logging.getLogger(__name__)


class DecodeOperator(Operator):
    """Raw messages in, records out.

    Args:
        decoding: how, and what happens to a message that cannot be decoded.
        raw_type: of the source's columns.
        output_type: of the records.
    """

    def __init__(
        self, decoding: Decoding, raw_type: TypeInformation, output_type: TypeInformation
    ) -> None:
        self.decoding = decoding
        self.raw_type = raw_type
        self.output_type = output_type

    def open(self, runtime: OperatorRuntime) -> None:
        super().open(runtime)
        self.decoder = self.decoding.decoder
        self.raw_codec = codec_for(self.raw_type)
        self.codec = codec_for(self.output_type)
        self.told_once = False
        try:
            self.decoder.open()
        except Exception as error:
            raise self.failed(error) from error

    def process(self, records: Records, input: int) -> None:  # noqa: A002
        raw = records.batch
        if raw is None:
            raw = records.encoded(self.raw_codec)
        columns = self._columns(raw)
        if columns is None:
            self._one_by_one(raw, records.timestamps)
        else:
            decoded = Records(timestamps=records.timestamps, batch=columns, codec=self.codec)
            self.output.emit(decoded)

    def _columns(self, raw: pa.RecordBatch) -> pa.RecordBatch | None:
        if self.codec.schema is None:
            return None
        try:
            columns = self.decoder.decode_columns(raw)
            return None if columns is None else columns.cast(self.codec.schema)
        except Exception as error:  # one by one it will turn out which message it is
            log.debug("messages cannot be decoded all at once: %s", error)
            return None

    def _one_by_one(self, raw: pa.RecordBatch, times: list[int] | None) -> None:
        decode = self.decoder.decode
        values: list[Any] = []
        stamps: list[int] = []
        for number, message in enumerate(self.decoder.messages(raw)):
            before = len(values)
            try:
                values.extend(decode(message))
            except Exception as error:
                del values[before:]
                self._bad(message, error, None if times is None else times[number])
                continue
            if times is not None:
                stamps.extend([times[number]] * (len(values) - before))
        self.output.emit(Records(values, None if times is None else stamps))

    def _bad(self, message: Any, error: Exception, time: int | None) -> None:
        decoding = self.decoding
        if decoding.on_error is OnError.FAIL:
            failure = self.decoder.failure(message, error)
            raise self.failed(failure) from error
        counters = self.runtime.metrics.counters
        counters[ERRORS] = counters.get(ERRORS, 0) + 1
        if not self.told_once:
            self.told_once = True
            log.warning("a message is left out (the first of this task): %s", error)
        if decoding.tag is not None:
            bad = self.decoder.bad_record(message, error, time)
            times = None if time is None else [time]
            self.output.emit_side(decoding.tag.tag_id, Records([bad], times))
