"""Sources that headrace has never seen: all of them is in this file.

`SegmentedLog` has positions of its own kind and runs on both hosts: partitions are folders that
appear while the job runs, a position in one is a segment file and a line of it.  `Paragraphs` is
read by Spark and brings an adapter and a layout of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.data.records import Records
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import Boundedness, Source
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.functions import KeyedProcessFunction, RuntimeContext
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import UserFunctionError
from headrace.hosts.spark.sources.adapter import OpenedSource, SourceAdapter, SourceRequest
from headrace.hosts.spark.sources.layouts import SourceLayout
from headrace.hosts.spark.sources.opening import ADAPTERS
from headrace.testing import LocalRunner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Place = dict[str, Any]  # {"segment": name of the file, "line": number of the next line}
BEGIN: Place = {"segment": "", "line": 0}


class SegmentedLog(PythonSource):
    """``log/<partition>/<segment>``: lines are only ever added to the newest segment."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def splits(self) -> list[str]:
        return [folder.name for folder in self.log.iterdir()]

    def initial_offset(self, split: str) -> Place:
        return BEGIN

    def latest_offset(self, split: str, start: Place) -> Place:
        return next(reversed([place for place, _ in self._lines(split, start)]), start)

    def records_between(self, split: str, start: Place, end: Place) -> int:
        return len(list(self._lines(split, start, end)))

    def offset_after(self, split: str, start: Place, end: Place, records: int) -> Place:
        return list(islice(self._lines(split, start, end), records))[-1][0]

    def read(self, split: str, start: Place, end: Place) -> Iterator[str]:
        return (line for _, line in self._lines(split, start, end))

    def _lines(
        self, split: str, start: Place, end: Place | None = None
    ) -> Iterator[tuple[Place, str]]:
        """(the place behind it, the line) for each line of a range."""
        for file in sorted((self.log / split).iterdir()):
            for number, line in enumerate(file.read_text().splitlines(), 1):
                here = (file.name, number)
                if here > _key(start) and (end is None or here <= _key(end)):
                    yield {"segment": file.name, "line": number}, line

    def produced_type(self) -> Any:
        return Types.STRING()


def _key(place: Place) -> tuple[str, int]:
    return place["segment"], place["line"]


@dataclass
class Log:
    """What the test writes."""

    folder: Path

    def append(self, partition: str, segment: str, *lines: str) -> None:
        """Whole lines at once, and new partitions whole: nobody sees half of one."""
        file = self.folder / partition / segment
        before = file.read_text() if file.exists() else ""
        hidden = self.folder.with_name(f"{partition}.draft")
        if file.parent.exists():
            hidden.write_text(before + "".join(f"{line}\n" for line in lines))
            hidden.rename(file)
        else:
            hidden.mkdir()
            (hidden / segment).write_text("".join(f"{line}\n" for line in lines))
            hidden.rename(file.parent)


class Numbered(KeyedProcessFunction):
    """Numbers the lines of each first letter; chokes on a poisoned one while the flag is there."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: Any) -> Any:
        if value.endswith("poison") and self.flag.exists():
            raise ValueError("choked")
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield {"line": value, "number": count}


@pytest.fixture
def log(tmp_path: Path) -> Log:
    (tmp_path / "log").mkdir()
    log = Log(tmp_path / "log")
    log.append("p0", "0001", "a0", "a1", "a2")
    log.append("p0", "0002", "a3")
    log.append("p1", "0001", "b0", "b1")
    return log


def numbered(env: StreamExecutionEnvironment, log: Log, flag: Path) -> Any:
    source = env.from_source(
        SegmentedLog(log.folder), WatermarkStrategy.no_watermarks(), "segments"
    ).uid("segments")
    return source.key_by(lambda line: line[0]).process(Numbered(flag)).uid("numbered")


def assert_each_once(found: list[dict[str, Any]], lines: str) -> None:
    assert Counter(record["line"] for record in found) == Counter(lines.split())
    numbers: dict[str, list[int]] = {}
    for record in found:
        numbers.setdefault(record["line"][0], []).append(record["number"])
    assert all(sorted(n) == list(range(1, len(n) + 1)) for n in numbers.values()), numbers


def test_on_the_local_runner(log: Log, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    flag.touch()
    env = StreamExecutionEnvironment.get_execution_environment()
    with LocalRunner(numbered(env, log, flag), source_tasks=2) as job:
        found = job.read_batch(4)
        assert len(found) == 4
        log.append("p2", "0001", "c0", "c1")
        found += job.read_batch(4)
        assert job.positions == [
            {
                "p0": {"line": 1, "segment": "0002"},
                "p1": {"line": 2, "segment": "0001"},
                "p2": BEGIN,
            }
        ]
        found += job.read_batch()
        log.append("p0", "0002", "a-poison")
        log.append("p1", "0002", "b2")
        with pytest.raises(UserFunctionError, match="choked"):
            job.read_batch()
        job.restart()
        flag.unlink()
        log.append("p1", "0002", "b3")  # behind the range that failed: it comes a batch later
        again = job.read_batch()
        assert sorted(record["line"] for record in again) == ["a-poison", "b2"]
        found += again
        found += job.read_batch()
    assert_each_once(found, "a0 a1 a2 a3 a-poison b0 b1 b2 b3 c0 c1")


def test_on_spark(
    make_env: Callable[..., StreamExecutionEnvironment],
    wait_for: Callable[[Callable[[], Any]], None],
    log: Log,
    tmp_path: Path,
) -> None:
    flag, out = tmp_path / "flag", tmp_path / "out"
    flag.touch()

    def start() -> Any:
        env = make_env(
            {
                "source.max-records-per-batch": 4,
                "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
            }
        )
        numbered(env, log, flag).sink_to(FileSink.json(str(out))).uid("files")
        return env.execute_async("segments")

    def written() -> list[dict[str, Any]]:
        return [json.loads(line) for file in sorted(out.glob("*.json")) for line in file.open()]

    client = start()
    wait_for(lambda: len(written()) == 6)
    log.append("p2", "0001", "c0", "c1")  # while it runs
    wait_for(lambda: len(written()) == 8)
    log.append("p0", "0003", "a4", "a-poison")
    with pytest.raises(UserFunctionError, match="choked"):
        client.get_job_execution_result().result(240)

    flag.unlink()
    log.append("p3", "0001", "d0")  # while it was down
    log.append("p1", "0001", "b2")
    client = start()
    try:
        wait_for(lambda: len(written()) == 12)
    finally:
        client.cancel().result(60)
    assert_each_once(written(), "a0 a1 a2 a3 a4 a-poison b0 b1 b2 c0 c1 d0")


# --- read by Spark -------------------------------------------------------------------------------


class Paragraphs(Source):
    """The paragraphs of the text files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def produced_type(self) -> Any:
        return Types.STRING()

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


def read_paragraphs(batch: Any, codec: Any, times: list[Any] | None) -> Iterator[Records]:
    """A cell is the text of a whole file."""
    for text in batch.column(0).to_pylist():
        yield Records(text.strip().split("\n\n"))


class ParagraphsAdapter(SourceAdapter[Paragraphs]):
    def open(self, source: Paragraphs, request: SourceRequest) -> OpenedSource:
        assert not request.columns, "a step that Catalyst runs would need a column of paragraphs"
        frame = request.spark.readStream.text(str(source.folder), wholetext=True)
        return OpenedSource(frame, SourceLayout("whole files", read_paragraphs))


def test_an_adapter_with_a_layout_of_its_own(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    ADAPTERS.register(Paragraphs, ParagraphsAdapter())
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("one\nline\n\ntwo\n")
    (tmp_path / "texts" / "b.txt").write_text("three\n")
    stream = env.from_source(
        Paragraphs(tmp_path / "texts"), WatermarkStrategy.no_watermarks(), "texts"
    )
    with stream.map(str.upper, Types.STRING()).execute_and_collect("paragraphs") as found:
        assert sorted(found) == ["ONE\nLINE", "THREE", "TWO"]
