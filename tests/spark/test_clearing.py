"""A job whose past state was cleared away goes on as if all of it were there."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

from headrace import state
from headrace.common import Types
from headrace.datastream import KeyedProcessFunction
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.state import ValueStateDescriptor
from headrace.hosts.spark.state import clearing
from headrace.hosts.spark.state.checkpoint_files import last_batch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.datastream import StreamExecutionEnvironment

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
KEYS = 4


class Numbers(PythonSource):
    """One record a batch for each key, for ever."""

    def latest_offset(self, split: str, start: int) -> int:
        return start + KEYS

    def read(self, split: str, start: int, end: int) -> Any:
        yield from ((f"key {number % KEYS}", 1) for number in range(start, end))

    def produced_type(self) -> Any:
        return PAIR


class Total(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        yield value[0], total


def snapshots(folder: Path) -> list[int]:
    return sorted(int(file.stem) for file in folder.glob("*.zip"))


def is_cleared(folder: Path) -> bool:
    """Whether one snapshot is there, and not the one that every subtask stores at first.

    Spark by itself keeps two from the second on.
    """
    found = snapshots(folder)
    return len(found) == 1 and found[0] > 1


def missing_files(folder: Path) -> Iterator[str]:
    """The files that the snapshots of a subtask list and that are not there."""
    for file in folder.glob("*.zip"):
        with zipfile.ZipFile(file) as archive:
            listed = json.loads(archive.read("metadata").decode().partition("\n")[2])
        for each in listed["sstFiles"]:
            if not (folder / "SSTs" / each["dfsSstFileName"]).exists():
                yield each["dfsSstFileName"]


def lose_the_newest_batch(query: Path) -> None:
    """As if the driver had died when its state was stored, and before its mark was written."""
    newest = last_batch(str(query))
    assert newest is not None
    for folder, first in (("commits", newest), ("offsets", newest + 1)):
        for file in (query / folder).iterdir():
            # the mark itself, its checksum, or what a stopped run has half written
            if int(file.name.lstrip(".").partition(".")[0]) >= first:
                file.unlink()


@pytest.mark.parametrize("mark", ["there", "lost"])
def test_a_job_goes_on_from_a_checkpoint_that_was_cleared(
    spark: SparkSession,
    make_env: Callable[..., StreamExecutionEnvironment],
    tmp_path: Path,
    wait_for: Callable[[Callable[[], Any]], None],
    monkeypatch: pytest.MonkeyPatch,
    mark: str,
) -> None:
    """Lost is the mark that the newest batch is committed: then its driver died just before it."""
    monkeypatch.setattr(clearing, "ROUND_S", 0.2)
    checkpoint, query = str(tmp_path / "checkpoint"), str(tmp_path / "checkpoint" / "query")
    subtasks = [tmp_path / "checkpoint" / "query" / "state" / "0" / n for n in "01"]

    def start() -> Any:
        env = make_env({"execution.checkpointing.dir": checkpoint})
        pairs = env.from_source(Numbers(), None, "numbers").uid("numbers").key_by(lambda p: p[0])
        return pairs.process(Total(), output_type=PAIR).uid("total").execute_and_collect("totals")

    def totals() -> dict[str, int]:
        rows = state.read(checkpoint, "total", "total", spark).collect()
        return {row["key"]: row["value"] for row in rows}

    found = start()
    wait_for(lambda: all(folder.exists() and is_cleared(folder) for folder in subtasks))
    found.close()
    for folder in subtasks:
        versions = {int(file.stem) for file in folder.glob("*.changelog")}
        assert versions.isdisjoint(range(snapshots(folder)[0]))
        assert list(missing_files(folder)) == []
    if mark == "lost":
        lose_the_newest_batch(tmp_path / "checkpoint" / "query")
    before = last_batch(query)
    assert before is not None
    assert totals() == {f"key {n}": before + 1 for n in range(KEYS)}

    found = start()
    wait_for(lambda: (last_batch(query) or 0) > before + 2)
    found.close()
    after = last_batch(query)
    assert after is not None
    assert totals() == {f"key {n}": after + 1 for n in range(KEYS)}
