"""AsyncDataStream on Spark: requests in worker processes, and what a restart in the middle does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import RestartStrategies, Types
from headrace.common.time import Time
from headrace.datastream import AsyncDataStream, AsyncFunction, RuntimeExecutionMode
from headrace.datastream.connectors.file_system import FileSink

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

COUNT = 40


class Lookup(AsyncFunction[int, int]):
    """The smaller a number, the later its answer; the first time, 23 ends the task or its process.

    Writes down whom it was asked about, as the outside service would see it.
    """

    def __init__(self, folder: Path, *, kill: bool) -> None:
        self.flag = folder / "flag"
        self.log = folder / "asked"
        self.kill = kill

    async def async_invoke(self, value: int) -> list[int]:
        with self.log.open("a") as log:
            log.write(f"{value}\n")
        await asyncio.sleep((COUNT - value) / 2000)
        if value == 23 and self.flag.exists():
            self.flag.unlink()
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ConnectionError("gone")
        return [value, -value]


@pytest.mark.parametrize(
    ("wait", "kill"),
    [(AsyncDataStream.ordered_wait, False), (AsyncDataStream.unordered_wait, True)],
    ids=["ordered and raising", "unordered and kill -9"],
)
def test_a_restart_with_requests_under_way_loses_nothing_and_gives_nothing_twice(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path, wait: Any, kill: bool
) -> None:
    (tmp_path / "flag").touch()
    env = make_env({"source.max-records-per-batch": 10})
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 100))
    numbers = env.from_collection(list(range(COUNT)), Types.LONG())
    lookup = Lookup(tmp_path, kill=kill)
    waited = wait(numbers.rebalance(), lookup, Time.seconds(60), 4, Types.LONG())
    counted = (
        waited.map(lambda n: (abs(n), 1), Types.TUPLE([Types.LONG(), Types.LONG()]))
        .key_by(lambda pair: pair[0])
        .reduce(lambda one, other: (one[0], one[1] + other[1]))
    )
    counted.map(lambda pair: {"n": pair[0], "count": pair[1]}).sink_to(
        FileSink.json(str(tmp_path / "out"))
    )
    client = env.execute_async("restart")
    client.get_job_execution_result().result(240)

    lines = [json.loads(line) for file in (tmp_path / "out").glob("*.json") for line in file.open()]
    found = sorted((line["n"], line["count"]) for line in lines)
    assert found == sorted((n, count) for n in range(COUNT) for count in (1, 2))
    asked = [int(line) for line in (tmp_path / "asked").read_text().split()]
    assert not (tmp_path / "flag").exists()
    assert asked.count(23) == 2
    # batches that were complete are not asked about again
    assert [asked.count(n) for n in range(20)] == [1] * 20


def test_batch_mode_on_spark(make_env: Callable[..., StreamExecutionEnvironment]) -> None:
    class Twice(AsyncFunction[int, int]):
        async def async_invoke(self, value: int) -> list[int]:
            await asyncio.sleep(0.001)
            return [value * 2]

    env = make_env()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    numbers = env.from_collection(list(range(20)), Types.LONG())
    waited = AsyncDataStream.ordered_wait(numbers, Twice(), Time.seconds(60), 4, Types.LONG())
    again = AsyncDataStream.unordered_wait(
        waited.key_by(lambda n: n % 3), Twice(), Time.seconds(60), 4, Types.LONG()
    )
    with again.execute_and_collect() as records:
        assert sorted(records) == [n * 4 for n in range(20)]
