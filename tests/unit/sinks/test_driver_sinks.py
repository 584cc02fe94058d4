"""Sinks whose effect happens on the driver: print, collect, functions, nothing."""

from __future__ import annotations

import itertools
import pickle
import threading
from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest

from headrace.api.functions.endpoints import SinkFunction
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connectors.discarding import DiscardingSink
from headrace.connectors.driver.collect import CollectSink
from headrace.connectors.driver.committer import forget_deliveries
from headrace.connectors.driver.printing import PrintSink, line_prefix
from headrace.datastream.connectors.sink import Committer, CommitterContext, Sink, WriterContext
from headrace.errors import InvalidArgumentError, StateError, TypeMismatchError, UserFunctionError
from headrace.runtime.sink_function import FunctionSink

if TYPE_CHECKING:
    from pathlib import Path

_jobs = itertools.count()


@pytest.fixture
def context() -> CommitterContext:
    return CommitterContext(f"job-{next(_jobs)}", "out")


def stage(
    sink: Sink,
    records: list[Any],
    *,
    subtask: int = 0,
    parallelism: int = 1,
    batch: int = 0,
    times: list[int] | None = None,
    type_info: Any = None,
) -> list[Any]:
    in_worker = pickle.loads(cloudpickle.dumps(sink))
    place = WriterContext(subtask, parallelism, "a", "job", "out", batch, type_info)
    writer = in_worker.create_writer(place)
    writer.write(records, times)
    committables: list[Any] = pickle.loads(pickle.dumps(writer.prepare_commit()))
    return committables


def forget_this_process() -> None:
    forget_deliveries()


@pytest.mark.parametrize(
    ("name", "parallelism", "prefix"),
    [("", 1, ""), ("", 4, "3> "), ("orders", 1, "orders> "), ("orders", 4, "orders:3> ")],
)
def test_prefixes_follow_flink(name: str, parallelism: int, prefix: str) -> None:
    assert line_prefix(name, 2, parallelism) == prefix


def test_print_goes_to_the_drivers_stdout_once(
    context: CommitterContext, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = PrintSink("x")
    second = stage(sink, ["b"], subtask=1, parallelism=2)
    first = stage(sink, ["a", "c"], subtask=0, parallelism=2)
    sink.create_committer(context).commit(0, second + first)
    # The query was restarted in this process: new committer, same batch.
    sink.create_committer(context).commit(0, second + first)
    captured = capsys.readouterr()
    assert captured.out == "x:1> a\nx:1> c\nx:2> b\n"
    assert captured.err == ""


def test_print_to_err(context: CommitterContext, capsys: pytest.CaptureFixture[str]) -> None:
    sink = PrintSink(to_err=True)
    sink.create_committer(context).commit(0, stage(sink, [None]))
    assert capsys.readouterr() == ("", "None\n")


@pytest.mark.parametrize(
    ("value", "type_info", "text"),
    [
        (True, Types.BOOLEAN(), "true"),
        (True, None, "True"),
        (1e20, Types.DOUBLE(), "1.0E20"),
        ((1, "a", True, 1.5), Types.TUPLE([Types.INT()] * 4), "(1,a,true,1.5)"),
        (Row(1, "a", True, None), Types.ROW([Types.INT()] * 4), "+I[1,a,True,None]"),
        ((1, Row(2, "b")), Types.TUPLE([Types.INT()] * 2), "(1,+I[2, b])"),
        ({"a": 1, "b": 2}, Types.MAP(Types.STRING(), Types.INT()), "{a=1, b=2}"),
        ({"a": 1}, Types.PICKLED_BYTE_ARRAY(), "{'a': 1}"),
        (["a", "b"], Types.LIST(Types.STRING()), "[a, b]"),
    ],
)
def test_values_look_as_pyflink_prints_them(
    value: Any,
    type_info: Any,
    text: str,
    context: CommitterContext,
    capsys: pytest.CaptureFixture[str],
) -> None:
    sink = PrintSink()
    sink.create_committer(context).commit(0, stage(sink, [value], type_info=type_info))
    assert capsys.readouterr().out == f"{text}\n"


def test_print_survives_a_new_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    context = CommitterContext(f"job-{next(_jobs)}", "a/b", str(tmp_path))
    sink = PrintSink()
    sink.create_committer(context).commit(3, stage(sink, ["x"], batch=3))
    forget_this_process()
    again = sink.create_committer(context)
    again.commit(3, stage(sink, ["x"], batch=3))
    again.commit(4, stage(sink, ["y"], batch=4))
    assert capsys.readouterr().out == "x\ny\n"


def test_the_progress_of_another_job_says_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sink = PrintSink()
    for _ in range(2):
        context = CommitterContext(f"job-{next(_jobs)}", "out", str(tmp_path))
        sink.create_committer(context).commit(0, stage(sink, ["x"]))
    assert capsys.readouterr().out == "x\nx\n"


def test_progress_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "sinks").mkdir()
    (tmp_path / "sinks" / "out.json").write_text("{")
    with pytest.raises(StateError, match="cannot be read") as caught:
        PrintSink().create_committer(CommitterContext("job", "out", str(tmp_path)))
    assert "delete the file" in str(caught.value)


def test_collect_delivers_each_batch_once_and_in_order(context: CommitterContext) -> None:
    got: list[list[Any]] = []
    lock = threading.Lock()  # cannot be pickled, and need not be

    def deliver(records: list[Any]) -> None:
        with lock:
            got.append(records)

    sink = CollectSink(deliver)
    parts = [stage(sink, [f"{s}-{n}" for n in range(2500)], subtask=s) for s in (1, 0)]
    for _ in range(2):
        sink.create_committer(context).commit(0, [c for part in parts for c in reversed(part)])
    sink.create_committer(context).commit(1, [])
    expected = [f"{s}-{n}" for s in (0, 1) for n in range(2500)]
    assert got == [expected, []]


def test_a_batch_that_was_not_delivered_is_given_again(context: CommitterContext) -> None:
    got: list[Any] = []

    def fail_once(records: list[Any]) -> None:
        if not got:
            got.append("failed")
            raise RuntimeError("no")
        got.extend(records)

    sink = CollectSink(fail_once)
    with pytest.raises(RuntimeError):
        sink.create_committer(context).commit(0, stage(sink, [1]))
    sink.create_committer(context).commit(0, stage(sink, [1]))
    assert got == ["failed", 1]


def test_records_of_a_class_without_a_home_are_collected(context: CommitterContext) -> None:
    class Local:
        def __init__(self, n: int) -> None:
            self.n = n

    got: list[Any] = []
    sink = CollectSink(got.extend)
    sink.create_committer(context).commit(0, stage(sink, [Local(5)]))
    assert [record.n for record in got] == [5]
    with pytest.raises(TypeMismatchError, match="cannot leave this process"):
        stage(sink, [threading.Lock()])


def test_discarding() -> None:
    sink = DiscardingSink()
    sink.create_committer(CommitterContext("job", "out")).commit(0, stage(sink, [1]))
    assert stage(sink, [1]) == []


class Recorder(SinkFunction):
    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.lock = threading.Lock()
        self.fail_at: int | None = None

    def open(self, runtime_context: Any) -> None:
        runtime_context.get_metrics_group().counter("opened").inc()
        self.calls.append(("open", runtime_context.get_index_of_this_subtask()))

    def invoke(self, value: Any, context: Any) -> None:
        if context.sequence() == self.fail_at:
            raise ValueError(f"cannot write {value}")
        place = (context.batch_id(), context.sequence(), context.timestamp())
        self.calls.append((value, *place))

    def finish(self) -> None:
        self.calls.append("finish")

    def close(self) -> None:
        self.calls.append("close")


def commit_two_subtasks(sink: FunctionSink, committer: Committer, batch: int) -> None:
    second = stage(sink, ["c"], subtask=1, batch=batch, times=[30])
    first = stage(sink, ["a", "b"], subtask=0, batch=batch, times=[10, 20])
    committer.commit(batch, second + first)


def test_a_function_sees_every_record_with_its_place(context: CommitterContext) -> None:
    recorder = Recorder()
    sink = FunctionSink(recorder)
    committer = sink.create_committer(context)
    commit_two_subtasks(sink, committer, 0)
    commit_two_subtasks(sink, committer, 0)
    committer.commit(1, stage(sink, ["d"], batch=1))
    committer.end_of_input()
    committer.close()
    committer.close()
    assert recorder.calls == [
        ("open", 0),
        ("a", 0, 0, 10),
        ("b", 0, 1, 20),
        ("c", 0, 2, 30),
        ("d", 1, 0, None),
        "finish",
        "close",
    ]


def test_a_failed_batch_comes_again_with_the_same_numbers(context: CommitterContext) -> None:
    recorder = Recorder()
    recorder.fail_at = 2
    sink = FunctionSink(recorder)
    committer = sink.create_committer(context)
    with pytest.raises(UserFunctionError) as caught:
        commit_two_subtasks(sink, committer, 0)
    assert "Recorder.invoke raised ValueError: cannot write c" in str(caught.value)
    assert "cannot write" in caught.value.user_traceback
    assert caught.value.record == "'c'"
    assert isinstance(caught.value.__cause__, ValueError)
    recorder.fail_at = None
    commit_two_subtasks(sink, committer, 0)
    numbers = [call[2] for call in recorder.calls if call[0] != "open"]
    assert numbers == [0, 1, 0, 1, 2]


def test_a_completed_batch_is_not_invoked_after_a_new_driver(tmp_path: Path) -> None:
    context = CommitterContext(f"job-{next(_jobs)}", "out", str(tmp_path))
    recorder = Recorder()
    sink = FunctionSink(recorder)
    commit_two_subtasks(sink, sink.create_committer(context), 0)
    forget_this_process()
    recorder.calls.clear()
    commit_two_subtasks(sink, sink.create_committer(context), 0)
    assert recorder.calls == [("open", 0)]


def test_plain_functions_are_sinks_too(context: CommitterContext) -> None:
    got: list[Any] = []
    sink = FunctionSink(got.append)
    sink.create_committer(context).commit(0, stage(sink, [1, 2]))
    assert got == [1, 2]
    with pytest.raises(InvalidArgumentError, match="is not a sink function"):
        FunctionSink(5)


def test_a_function_that_does_not_open_is_told(context: CommitterContext) -> None:
    class Broken(Recorder):
        def open(self, runtime_context: Any) -> None:
            raise ConnectionError("refused")

    with pytest.raises(UserFunctionError, match=r"Broken\.open raised ConnectionError: refused"):
        FunctionSink(Broken()).create_committer(context)
