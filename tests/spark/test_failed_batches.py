"""What a failed batch has stored does not count, also for those who read the files later."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from headrace import state
from headrace.common import Types
from headrace.datastream import KeyedProcessFunction
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.state import ValueStateDescriptor
from headrace.hosts.spark.state.checkpoint_files import last_batch
from headrace.hosts.spark.state.unloading import LoadedState

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from headrace.datastream import StreamExecutionEnvironment

MAINTENANCE_S = 10  # in which Spark stores a snapshot after its batch (session.py)
PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


class Numbers(PythonSource):
    """One record a batch for each of four keys, until there are enough."""

    def __init__(self, batches: int) -> None:
        self.batches = batches

    def latest_offset(self, split: str, start: int) -> int:
        return min(start + 4, 4 * self.batches)

    def read(self, split: str, start: int, end: int) -> Any:
        yield from ((f"key {number % 4}", 1) for number in range(start, end))

    def produced_type(self) -> Any:
        return PAIR


class Total(KeyedProcessFunction):
    """Counts; fails once at a total, before anything of that batch is counted."""

    def __init__(self, marker: Path, poison: int) -> None:
        self.marker = marker
        self.poison = poison

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        total = (self.total.value() or 0) + value[1]
        if total == self.poison and not self.marker.exists():
            self.marker.touch()
            raise RuntimeError("only once")
        self.total.update(total)
        yield value[0], total


# Behind the sixth batch Spark makes a snapshot, and stores it later: also that of a failed run.
@pytest.mark.parametrize(("poison", "batches"), [(4, 5), (6, 6)], ids=["changes", "snapshot"])
@pytest.mark.parametrize("restarted", ["by the strategy", "by hand"])
def test_state_in_the_files_is_that_of_the_repeated_batch(
    spark: SparkSession,
    make_env: Callable[..., StreamExecutionEnvironment],
    tmp_path: Path,
    wait_for: Callable[[Callable[[], Any]], None],
    restarted: str,
    poison: int,
    batches: int,
) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    settings = {"execution.checkpointing.dir": checkpoint, "restart-strategy.type": "none"}
    if restarted == "by the strategy":
        settings["restart-strategy.type"] = "fixed-delay"
        settings["restart-strategy.fixed-delay.delay"] = "10 ms"

    def start() -> Any:
        env = make_env(settings)
        counted = (
            env.from_source(Numbers(batches), None, "numbers").uid("numbers").key_by(lambda p: p[0])
        )
        totals = counted.process(Total(tmp_path / "failed", poison), output_type=PAIR).uid("total")
        return totals.execute_and_collect("totals")

    found = start()
    if restarted == "by hand":
        with pytest.raises(Exception, match="only once"):
            list(found)
        found = start()
    wait_for(lambda: last_batch(f"{checkpoint}/query") == batches - 1)
    if batches == 6:
        subtasks = [Path(checkpoint) / "query" / "state" / "0" / n for n in "01"]
        wait_for(lambda: all((folder / "6.zip").exists() for folder in subtasks))
    found.close()
    assert (tmp_path / "failed").exists()
    rows = state.read(checkpoint, "total", "total", spark).collect()
    assert {row["key"]: row["value"] for row in rows} == {f"key {n}": batches for n in range(4)}


def test_a_run_that_has_failed_stores_no_snapshot_any_more(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    env = make_env(
        {"execution.checkpointing.dir": str(checkpoint), "restart-strategy.type": "none"}
    )
    counted = env.from_source(Numbers(6), None, "numbers").uid("numbers").key_by(lambda p: p[0])
    totals = counted.process(Total(tmp_path / "failed", 6), output_type=PAIR).uid("total")
    with pytest.raises(Exception, match="only once"):
        list(totals.execute_and_collect("totals"))

    def snapshots() -> list[Path]:
        return sorted(checkpoint.glob("query/state/0/*/*.zip"))

    before = snapshots()  # more than the first ones, if the machine was slow
    assert [file.name for file in before].count("1.zip") == 2
    time.sleep(MAINTENANCE_S + 5)  # Spark tells nobody that it has looked
    assert snapshots() == before


def test_unloading_waits_for_a_snapshot_that_is_being_stored(
    make_env: Callable[..., StreamExecutionEnvironment],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    providers: list[Any] = []
    held, finish, unloaded = threading.Event(), threading.Event(), threading.Event()

    def hold() -> None:
        lock = providers[0].maintenanceLock().readLock()
        lock.lock()  # as Spark's maintenance does
        held.set()
        finish.wait(60)
        lock.unlock()

    storing = threading.Thread(target=hold, daemon=True)
    real = LoadedState._unload

    def unload(self: LoadedState, store: Any) -> None:
        if not providers:
            providers.extend(self._providers(store))
            storing.start()
            assert held.wait(60)
        real(self, store)
        unloaded.set()

    monkeypatch.setattr(LoadedState, "_unload", unload)
    env = make_env({"execution.checkpointing.dir": str(tmp_path / "checkpoint")})
    counted = env.from_source(Numbers(2), None, "numbers").uid("numbers").key_by(lambda p: p[0])
    totals = counted.process(Total(tmp_path / "failed", 9), output_type=PAIR).uid("total")
    found = totals.execute_and_collect("totals")
    assert [next(found) for _ in range(4)]
    closing = threading.Thread(target=found.close, daemon=True)
    closing.start()
    assert held.wait(60)
    assert not unloaded.wait(0.5)
    finish.set()
    assert unloaded.wait(60)
    closing.join(60)
    assert providers[0].unloaded()
