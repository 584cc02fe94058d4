"""Reads what a batch's packets hold: messages for the driver, or records as DataFrame columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.data.codec import codec_for
from headrace.errors import JobError
from headrace.hosts.spark.sources.source_batches import column_schema, fit_schema
from headrace.hosts.spark.types import spark_schema_of
from headrace.runtime.exchange.buffers import ARROW, MESSAGE, content_of, frames_of, records_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from headrace.common.typeinfo import TypeInformation


def packets_of(frame: DataFrame) -> list[bytes]:
    """Run the batch: the packets that its last stage sent to the driver."""
    column = frame.select("packet").toArrow().column("packet")
    return [bytes(packet) for packet in column.to_pylist()]


def records_frame(packets: DataFrame, edge: int, type_info: TypeInformation) -> DataFrame:
    """The records of an edge that leaves the last stage, as columns."""

    def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        codec, schema = codec_for(type_info), column_schema(type_info)
        for batch in batches:
            for packet in batch.column("packet").to_pylist():
                for frame in frames_of(packet):
                    if frame.kind == ARROW and frame.edge == edge:
                        found = records_in(frame, codec).batch
                        assert found is not None
                        yield fit_schema(found, schema)
                    elif frame.kind == MESSAGE:
                        _raise_error(content_of(frame))

    return packets.mapInArrow(decode, spark_schema_of(type_info))


def _raise_error(message: object) -> None:
    if isinstance(message, tuple) and message[0] == "error":
        import pickle

        error, cause = pickle.loads(message[1])
        raise error from cause
    if message is not None and not isinstance(message, tuple):
        raise JobError(f"unknown message {message!r}")
