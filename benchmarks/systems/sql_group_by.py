"""GROUP BY k: COUNT, SUM, MAX of 10,000 keys.

Variants `row-by-row` and `mini-batch`: the operator alone, in this process, with its state written
after each batch; rows a second of CPU time.  Variant `end-to-end`: the same as SQL on Spark, row by
row, from Parquet into a sink that drops the changes.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

os.environ["PYSPARK_PYTHON"] = sys.executable

import numpy as np
import pyarrow as pa
from measure import arguments, measure_query, report, spark_session

from headrace.common.data_types import DataTypes, RowField, RowType
from headrace.common.row_data_type import RowDataTypeInfo
from headrace.data.codec import codec_for
from headrace.data.records import Records
from headrace.runtime.chain import Channel
from headrace.runtime.metrics import OperatorMetrics
from headrace.runtime.operators.base import OperatorRuntime, Output
from headrace.runtime.pages.store import DictStore
from headrace.runtime.table.group_aggregate import GroupAggregateOperator
from headrace.runtime.table.keying import LineKeying
from headrace.scalars.aggregates import AggregateCall
from headrace.scalars.session import ScalarSession

if TYPE_CHECKING:
    import argparse

BIGINT = DataTypes.BIGINT()
KEYS = 10_000


class Counted:
    """Counts changes."""

    def __init__(self) -> None:
        self.count = 0

    def accept(self, records: Records) -> None:
        """Count them."""
        self.count += len(records)


def lines_of(*names: str, changes: bool = False) -> RowDataTypeInfo:
    """Lines of BIGINT columns."""
    return RowDataTypeInfo(RowType([RowField(name, BIGINT) for name in names]), changes)


SOURCE = lines_of("k", "v")


def opened(*, mini_batch: bool) -> tuple[GroupAggregateOperator, Counted]:
    """The operator, and what it emits into."""
    calls = [AggregateCall("COUNT", (), BIGINT)]
    calls += [AggregateCall(name, (1,), BIGINT) for name in ("SUM", "MAX")]
    out = lines_of("k", "n", "s", "m", changes=True)
    operator = GroupAggregateOperator(
        SOURCE, out, (0,), calls, mini_batch=mini_batch, session=ScalarSession()
    )
    output: Any = Output(OperatorMetrics())
    counted = Counted()
    output.main = [counted]
    operator.open(
        OperatorRuntime(
            name="group",
            uid="group",
            where="",
            subtask=0,
            parallelism=1,
            max_parallelism=128,
            output=output,
            store=DictStore(),
            metrics=OperatorMetrics(),
            clock=lambda: 0,
            channel=Channel(""),
            keyings=(LineKeying((0,)),),
        )
    )
    return operator, counted


def operator_alone(options: argparse.Namespace, rows: int) -> None:
    """Run batches of random keys."""
    operator, counted = opened(mini_batch=options.variant == "mini-batch")
    codec = codec_for(SOURCE)
    random = np.random.default_rng(7)
    began = time.perf_counter()
    computing = writing = 0.0
    done = 0
    while done < options.events:
        columns = [random.integers(0, KEYS, rows), random.integers(0, 1 << 40, rows)]
        batch = pa.RecordBatch.from_arrays([pa.array(c) for c in columns], schema=codec.schema)
        begun = time.process_time()
        operator.process(Records(batch=batch, codec=codec), 0)
        computed = time.process_time()
        operator.flush()
        if done >= options.warmup_events:
            computing += computed - begun
            writing += time.process_time() - computed
        done += rows
    steady = done - options.warmup_events
    report(
        system=f"sql_group_by_{options.variant}",
        job=options.job,
        events=done,
        seconds=round(time.perf_counter() - began, 3),
        events_per_s=round(steady / (computing + writing)),
        note=f"{steady / computing:,.0f} without writing state; {counted.count:,} changes",
    )


def end_to_end(options: argparse.Namespace, rows: int) -> None:
    """The statement on Spark."""
    from headrace.table import EnvironmentSettings, TableEnvironment

    spark = spark_session(options.scratch)
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.get_config().set("source.max-records-per-batch", str(rows))
    t_env.execute_sql(
        "CREATE TABLE events (`key` BIGINT, `value` DOUBLE) WITH ('connector' = 'filesystem', "
        f"'path' = '{options.data / 'parquet'}', 'format' = 'parquet')"
    )
    query = (
        "CREATE TABLE dropped WITH ('connector' = 'blackhole') AS SELECT `key`, COUNT(*) AS n, "
        "SUM(`value`) AS s, MAX(`value`) AS m FROM events GROUP BY `key`"
    )
    measure_query(options, lambda: t_env.execute_sql(query).wait(), system="sql_group_by_spark")
    spark.stop()


def main() -> None:
    options = arguments()
    rows = min(options.batch, options.events)
    run = end_to_end if options.variant == "end-to-end" else operator_alone
    run(options, rows)


if __name__ == "__main__":
    main()
