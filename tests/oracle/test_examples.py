"""PyFlink's own examples print on headrace what they print on PyFlink.

In: examples.py, examples.json.  `make test` runs all of them without Spark and two as programs on
Spark; `make oracle` runs all of them on Spark, and PyFlink again.
"""

from __future__ import annotations

import os
import runpy
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Row, Types
from headrace.connectors.driver.printing import PrintWriter
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.sink import WriterContext
from headrace.errors import HeadraceError
from headrace.testing import collect_locally
from oracle import examples, server_examples, session
from skips import give_up

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FULL = os.environ.get("HEADRACE_ORACLE") == "full"
ON_SPARK = examples.COMPARED if FULL else ("word_count", "windowing/tumbling_time_window")


@pytest.fixture(scope="module", autouse=True)
def _sources() -> None:
    reason = session.missing_reason()
    if reason is not None:
        give_up(reason)


def run(name: str, tmp_path: Path, run_name: str) -> dict[str, Any]:
    script = tmp_path / "example.py"
    script.write_text(examples.for_headrace(name), encoding="utf-8")
    return runpy.run_path(str(script), run_name=run_name)


def capture_prints(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Where lines appear: from now on streams are computed in this process."""
    waiting: list[DataStream] = []
    lines: list[str] = []

    def execute(env: StreamExecutionEnvironment, job_name: str | None = None) -> None:
        for stream in waiting:
            context = WriterContext(0, 1, "a", "job", "print", 0, stream.get_type())
            writer = PrintWriter("", context)
            writer.write(collect_locally(stream), None)
            lines.extend(line.text for line in writer.prepare_commit())
        waiting.clear()

    def remember(stream: DataStream, sink_identifier: str | None = None) -> None:
        waiting.append(stream)

    monkeypatch.setattr(DataStream, "print", remember)
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", execute)
    return lines


def printed_locally(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What an example prints if its streams are computed in this process."""
    lines = capture_prints(monkeypatch)
    monkeypatch.setattr("sys.argv", ["example.py"])
    run(name, tmp_path, "__main__")
    return examples.results("".join(lines))


@pytest.mark.parametrize("name", examples.COMPARED)
def test_an_example_gives_pyflinks_result_without_spark(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert printed_locally(name, tmp_path, monkeypatch) == examples.stored()[name]


@pytest.mark.spark
@pytest.mark.parametrize("name", ON_SPARK)
def test_an_example_prints_pyflinks_result_on_spark(name: str) -> None:
    found, expected = examples.on_spark(name), examples.stored()[name]
    if name == "event_time_timer":
        # Its state lives for a second of the machine's clock, and the last timers of a bounded
        # input fire in a batch of their own: on a busy machine the state is gone by then.
        found, expected = _keys(found), _keys(expected)
    assert found == expected


def _keys(lines: list[str]) -> list[str]:
    return [line.split(",")[0] for line in lines]


@pytest.mark.skipif(not FULL, reason="runs PyFlink on every example: make oracle")
@pytest.mark.parametrize("name", examples.COMPARED)
def test_pyflink_still_prints_what_is_stored(name: str) -> None:
    assert examples.on_pyflink(name) == examples.stored()[name]


# they read tables of generated rows that have no end; a test of its own gives three to the first
ASYNC = "asyncio/remote_model_inference"
ENDLESS = (ASYNC, "streaming_word_count")


def others() -> list[str]:
    if session.missing_reason() is not None:
        return []
    compared = {*examples.COMPARED, *server_examples.KAFKA, "connectors/elasticsearch"}
    return [name for name in examples.all_names() if name not in {*compared, *ENDLESS}]


@pytest.mark.parametrize("name", others())
def test_an_example_that_needs_what_is_missing_says_so(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pulsar."""
    monkeypatch.setattr("sys.argv", ["example.py"])
    run(name, tmp_path, "example")  # imports, and defines its functions
    with pytest.raises(HeadraceError) as caught:
        run(name, tmp_path, "__main__")
    assert caught.value.fix


def test_the_async_example_gives_its_answers_when_something_else_makes_its_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its main function as it is; the table it reads is a stream with the same columns."""
    main = run(ASYNC, tmp_path, "example")["main"]
    tables = _Tables([Row(1, "good"), Row(2, "bad"), Row(3, "fair")])
    for name in ("StreamTableEnvironment", "TableDescriptor", "Schema", "DataTypes"):
        monkeypatch.setitem(main.__globals__, name, tables)
    # Its model answers at once, and every first request of a user times out.
    monkeypatch.setattr("random.randint", lambda low, high: 3 if high == 10 else 0)
    lines = capture_prints(monkeypatch)
    main(None)
    assert examples.results("".join(lines)) == [
        f'{{"user_id": {user}, "comments": "{text}", "analysis_result": "positive"}}'
        for user, text in ((1, "good"), (2, "bad"), (3, "fair"))
    ]


class _Tables:
    """Answers every call with itself, but `to_data_stream` with rows."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows
        self._env: StreamExecutionEnvironment | None = None

    def create(self, stream_execution_environment: StreamExecutionEnvironment) -> _Tables:
        self._env = stream_execution_environment
        return self

    def to_data_stream(self, table: _Tables) -> DataStream:
        assert self._env is not None
        kind = Types.ROW_NAMED(["user_id", "comments"], [Types.INT(), Types.STRING()])
        return self._env.from_collection(self._rows, kind)

    def __getattr__(self, name: str) -> Callable[..., _Tables]:
        return lambda *arguments: self
