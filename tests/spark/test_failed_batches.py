"""What a failed batch has stored does not count, also for those who read the files later."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace import state
from headrace.common import Types
from headrace.datastream import KeyedProcessFunction
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.state import ValueStateDescriptor
from headrace.testing.programs import handle_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.datastream import StreamExecutionEnvironment

BATCHES = 6
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Numbers(PythonSource):
    """One record a batch for each of four keys, until there are enough."""

    def latest_offset(self, split: str, start: int) -> int:
        return min(start + 4, 4 * BATCHES)

    def read(self, split: str, start: int, end: int) -> Any:
        yield from ((f"key {number % 4}", 1) for number in range(start, end))

    def produced_type(self) -> Any:
        return PAIR


class Total(KeyedProcessFunction):
    """Counts; fails once a key has three, before anything of that batch is counted."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        total = (self.total.value() or 0) + value[1]
        if total == 4 and not self.marker.exists():
            self.marker.touch()
            raise RuntimeError("only once")
        self.total.update(total)
        yield value[0], total


@pytest.mark.parametrize("restarted", ["by the strategy", "by hand"])
def test_state_in_the_files_is_that_of_the_repeated_batch(
    spark: SparkSession,
    make_env: Callable[..., StreamExecutionEnvironment],
    tmp_path: Path,
    wait_for: Callable[[Callable[[], Any]], None],
    restarted: str,
) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    settings = {"execution.checkpointing.dir": checkpoint, "restart-strategy.type": "none"}
    if restarted == "by the strategy":
        settings["restart-strategy.type"] = "fixed-delay"
        settings["restart-strategy.fixed-delay.delay"] = "10 ms"

    def start() -> Any:
        env = make_env(settings)
        counted = env.from_source(Numbers(), None, "numbers").uid("numbers").key_by(lambda p: p[0])
        totals = counted.process(Total(tmp_path / "failed"), output_type=PAIR).uid("total")
        return totals.execute_and_collect("totals")

    found = start()
    if restarted == "by hand":
        with pytest.raises(Exception, match="only once"):
            list(found)
        found = start()
    wait_for(lambda: handle_of(found.job_client).metrics.last_batch_id == BATCHES - 1)
    found.close()
    assert (tmp_path / "failed").exists()
    rows = state.read(checkpoint, "total", "total", spark).collect()
    assert {row["key"]: row["value"] for row in rows} == {f"key {n}": BATCHES for n in range(4)}
