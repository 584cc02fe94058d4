"""Sources written in Python as streaming DataFrames.

In: a `PythonSource` of the program.  Out: a DataFrame of Spark's Python data source, to which the
pickled source is an option.  Next: python_source.py, which Spark's processes run; layouts.py
"""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

import cloudpickle

from headrace.data.codec import codec_for
from headrace.errors import UnserializableFunctionError
from headrace.hosts.pending import pending_of
from headrace.hosts.spark.sources.adapter import OpenedSource, SourceAdapter, SourceRequest
from headrace.hosts.spark.sources.layouts import (
    PICKLED_CELLS,
    ROWS,
    RangesLayout,
    SourceLayout,
)
from headrace.hosts.spark.sources.python_source import (
    DRIVER,
    FORMAT,
    RANGE_SCHEMA,
    STAGE,
    WORKER,
    HeadraceDataSource,
)
from headrace.hosts.spark.types import source_schema
from headrace.io.storage import local_path
from headrace.spi.python_source import Position, PythonSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from headrace.common.opaque import JsonObject, JsonValue

__all__ = ["PythonSourceAdapter"]

_registered: WeakSet[SparkSession] = WeakSet()


class PythonSourceAdapter(SourceAdapter[PythonSource]):
    """Reads any `PythonSource`; its position is Spark's offset: split -> offset, as JSON."""

    def open(self, source: PythonSource, request: SourceRequest) -> OpenedSource:
        spark = request.spark
        if spark not in _registered:
            _register(spark)
            _registered.add(spark)
        read_by = _read_by(source, request)
        options = {
            "source": str(_write_pickle(source, _scratch_dir(request.job_dir))),
            "read_by": read_by,
            "limit": str(request.options.max_records_per_batch),
            "parallelism": str(request.options.parallelism),
            "source_id": request.source_id,
        }
        if request.options.board is not None:
            options["board"] = str(request.options.board)
        layout: SourceLayout
        schema: StructType | str
        if read_by == STAGE:
            layout, schema = RangesLayout.of(source), RANGE_SCHEMA
        else:
            layout, schema = _layout(source), source_schema(source)
        reader = spark.readStream.format(FORMAT).schema(schema).options(**options)
        return OpenedSource(reader.load(), layout)

    def position(self, source: PythonSource, offsets: Sequence[JsonValue]) -> Position:
        return dict(offsets[0] or {})

    def reports(
        self, uid: str, source: PythonSource, position: Position, latest: Position
    ) -> list[tuple[int, dict[str, JsonObject]]]:
        return pending_of(uid, source, position, lambda: latest)


def _read_by(source: PythonSource, request: SourceRequest) -> str:
    """Who calls `read`: stage 0 itself, unless the driver must or Catalyst needs columns."""
    if source.reads_on_driver:
        return DRIVER
    return WORKER if request.columns else STAGE


def _layout(source: PythonSource) -> SourceLayout:
    pickled = codec_for(source.produced_type()).schema is None
    return replace(
        PICKLED_CELLS if pickled else ROWS,
        timestamps=source.has_timestamps(),
        splits=source.has_splits(),
    )


def _scratch_dir(job_dir: str) -> Path:
    """Where the pickled source stays while the query runs: on the driver's own disk."""
    here = local_path(job_dir)
    if here is None:
        scratch = Path(tempfile.mkdtemp(prefix="headrace-sources-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        return scratch
    return here / "sources"


def _register(spark: SparkSession) -> None:
    """Make the format known to a session.

    Spark looks for an older one of the same name in the *active* session, whichever that is, and
    refuses if it finds it there: so this session is the active one meanwhile.
    """
    assert spark._jvm is not None
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        spark.dataSource.register(HeadraceDataSource)
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def _write_pickle(source: PythonSource, scratch_dir: Path) -> Path:
    try:
        pickled = cloudpickle.dumps(source)
    except Exception as error:
        raise UnserializableFunctionError(
            f"{source.describe()} cannot be sent to a worker: {type(error).__name__}: {error}",
            fix="open files, sockets and clients in open() or read(), not in __init__",
        ) from error
    scratch_dir.mkdir(parents=True, exist_ok=True)
    # Named after its content, so that a job that is restarted a thousand times leaves one file.
    path = scratch_dir / f"source-{hashlib.sha256(pickled).hexdigest()[:24]}.pickle"
    path.write_bytes(pickled)
    return path
