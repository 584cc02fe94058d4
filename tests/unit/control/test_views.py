"""Read models of a real job without Spark: what was slow, what was kept, what it costs to look."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.control.checkpoint_history import CheckpointHistory
from headrace.control.registry import JobRecord, JobRegistry
from headrace.control.views.reader import JobViews
from headrace.datastream import KeyedCoProcessFunction, StreamExecutionEnvironment
from headrace.errors import JobNotFoundError
from headrace.io.processes import here, this_process
from headrace.rest.flink import checkpoints as flink
from job_files import environment, run_three_stages

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.control.views.models import VertexView

MODES = ("micro-batch", "continuous")
_INTERVAL = {"micro-batch": "0 ms", "continuous": "200 ms"}
_AT_ONCE = {"micro-batch": "1000", "continuous": "20"}


@pytest.fixture(scope="module", params=MODES)
def job(request: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[JobViews, str]:
    """A job of three stages, the second of which is slow, in both modes."""
    with pytest.MonkeyPatch.context() as patch:
        # so few packets between threads that a small job fills them
        patch.setattr("headrace.hosts.local.continuous._ON_THE_WAY", 1)
        return run_three_stages(
            tmp_path_factory.mktemp("views"),
            sleep_s=0.001,  # much more than what the machine needs for a record, though it be busy
            headrace__execution__mode=request.param,
            execution__checkpointing__interval=_INTERVAL[request.param],
            source__max_records_per_batch=_AT_ONCE[request.param],
            web__checkpoints__history="2",
            pipeline__global_job_parameters="region:north,db_password:hunter2",
        )


def named(views: JobViews, job_id: str) -> dict[str, VertexView]:
    return {vertex.name: vertex for vertex in views.vertices(job_id)}


def test_the_plan_has_flinks_vertices(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    nodes = views.plan(job_id).nodes
    told = [(n.name, n.kind, n.level, n.parallelism, [i.ship_strategy for i in n.inputs])
            for n in nodes]  # fmt: skip
    assert told == [
        ("numbers -> quick", "source", 0, 2, []),
        ("slow", "operator", 1, 2, ["HASH"]),
        ("last -> out", "operator", 2, 2, ["HASH"]),
    ]
    assert nodes[1].inputs[0].id == nodes[0].id
    assert "job_files.py" in nodes[0].call_site


def test_every_record_is_counted_once_where_it_leaves_and_enters(job: tuple[JobViews, str]) -> None:
    found = named(*job)
    told = {name: (v.counts.records_in, v.counts.records_out) for name, v in found.items()}
    assert told == {
        "numbers -> quick": (0, 3000),
        "slow": (3000, 3000),
        "last -> out": (3000, 0),
    }
    assert all(vertex.counts.bytes_in > 3000 for vertex in list(found.values())[1:])
    assert found["slow"].counts.state_bytes
    assert found["slow"].subtasks[0].host.endswith(f":{os.getpid()}")


def test_the_slow_step_is_named_and_those_in_front_of_it_wait(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    slow = views.diagnosis(job_id).slow
    assert slow is not None
    assert (slow.uid, slow.name) == ("slow", "slow")
    assert "job_files.py" in slow.where
    found = named(views, job_id)
    front, last = found["numbers -> quick"], found["last -> out"]
    pressure = views.back_pressure(job_id, front.id)
    assert pressure.level in ("low", "high")
    assert views.back_pressure(job_id, last.id).level == "ok"
    for subtask in pressure.subtasks:
        assert subtask.busy + subtask.idle + subtask.back_pressured == pytest.approx(1, abs=0.01)
    assert found["slow"].counts.busy > 2 * last.counts.busy  # type: ignore[operator]


def test_uneven_keys_are_seen(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    [skew] = [s for s in views.diagnosis(job_id).skews if s.what == "records"]
    assert skew.name == "slow"
    assert skew.ratio == pytest.approx(1.9, abs=0.1)
    most = named(views, job_id)["slow"].subtasks[skew.subtask]
    assert most.counts.records_in == skew.most


def test_users_metrics_are_there_by_subtask_and_added_up(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    slow = named(views, job_id)["slow"]
    metrics = views.vertex_metrics(job_id, slow.id)
    assert sum(metrics[f"{n}.slow.mine.seen"] for n in (0, 1)) == 3000
    assert metrics["0.slow.mine.sizes.max"] <= 9
    assert sum(metrics[f"{n}.slow.mine.sizes.count"] for n in (0, 1)) == 3000
    assert metrics["0.slow.mine.marks"] > 0
    assert 1 <= max(metrics[f"{n}.slow.mine.last"] for n in (0, 1)) <= 3000
    assert metrics["0.busyTimeMsPerSecond"] > 0
    assert slow.operators[0].metrics["mine.seen"] == 3000
    assert views.subtask_metrics(job_id, slow.id, 1)["numRecordsIn"] > 0


def test_users_accumulators_are_there_by_subtask_and_merged(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    found = named(views, job_id)
    digits = str(dict.fromkeys(range(10), 300))
    wanted = {("records", "LongCounter", "3000"), ("digits", "Histogram", digits)}
    assert {(a.name, a.type, a.value) for a in found["slow"].accumulators} == wanted
    assert {(a.name, a.type, a.value) for a in views.accumulators(job_id)} == wanted
    parts = [
        {each.name: each.value for each in subtask.accumulators}
        for subtask in found["slow"].subtasks
    ]
    counted = [subtask.counts.records_in for subtask in found["slow"].subtasks]
    assert [int(part["records"]) for part in parts] == counted
    assert all(part["digits"] != digits for part in parts)
    assert found["last -> out"].accumulators == ()


def test_the_history_of_checkpoints_is_bounded_and_whole(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    found = views.checkpoints(job_id)
    assert found.counts.completed == views.job(job_id).epochs >= 3
    assert (found.counts.failed, found.counts.in_progress, found.counts.restored) == (0, 0, 0)
    assert len(found.history) == 2
    newest = found.history[0]
    assert newest.id == found.counts.completed
    assert newest == found.latest_completed == views.checkpoint(job_id, newest.id)
    assert newest.state_bytes == sum(vertex.state_bytes for vertex in newest.vertices) > 0
    assert [len(vertex.subtasks) for vertex in newest.vertices] == [2, 2, 2]
    assert found.duration_ms.min <= found.duration_ms.p99 <= found.duration_ms.max
    assert views.checkpoint(job_id, 1) is None
    metrics = views.job_metrics(job_id)
    assert metrics["lastCompletedCheckpointId"] == newest.id
    assert metrics["lastCheckpointFullSize"] == newest.state_bytes


def test_secrets_are_masked(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    parameters = views.configuration(job_id).job_parameters
    assert parameters == {"region": "north", "db_password": "******"}
    files = views.registry.folder.rglob("*.json*")
    assert not [file for file in files if "hunter2" in file.read_text()]


def test_metrics_over_time_grow_to_the_end(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    slow = named(views, job_id)["slow"].id
    [found] = views.series(job_id, [f"{slow}.numRecordsIn"])
    values = [value for _, value in found.points]
    assert values == sorted(values)
    assert values[-1] == 3000
    names = {series.name for series in views.series(job_id)}
    assert {f"{slow}.busyTimeMsPerSecond", f"{slow}.numRecordsInPerSecond"} <= names
    assert f"{slow}.slow.mine.seen" in names
    assert "job.lastCheckpointDuration" in names


def test_a_second_look_reads_nothing(
    job: tuple[JobViews, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    views, job_id = job
    first = views.vertices(job_id)
    views.job(job_id)
    monkeypatch.setattr("pathlib.Path.read_bytes", _fail)
    assert views.vertices(job_id) is first
    views.job(job_id)
    views.overview()


def _fail(path: Path) -> bytes:
    raise AssertionError(f"{path} was read again")


def test_the_time_of_prometheus_names_every_vertex(job: tuple[JobViews, str]) -> None:
    from headrace.control.views.prometheus import exposition

    views, job_id = job
    path = views.registry.folder / f"{job_id}.json"
    before = path.read_text()
    me = this_process()
    running = {"state": "RUNNING", "ended": None, "pid": me.pid, "born": me.born}
    path.write_text(json.dumps(json.loads(before) | running))
    try:
        lines = exposition(views).decode().splitlines()
    finally:
        path.write_text(before)
    told = [line for line in lines if line.startswith("flink_taskmanager_job_task_numRecordsIn{")]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in told) == 6000
    seen = [line for line in lines if "operator_mine_seen{" in line]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in seen) == 3000
    assert any(line.startswith("headrace_job_slow_operator_busy_ratio{") for line in lines)
    assert sum(line.startswith("# TYPE flink_jobmanager_job_numRestarts ") for line in lines) == 1


# --- what goes wrong -----------------------------------------------------------------------------


def test_a_failure_tells_the_users_line_and_code(tmp_path: Path) -> None:
    configuration = environment(tmp_path, restart_strategy__type="none")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)

    def divide(n: int) -> float:
        return 10 / (n - 2)  # the line in question

    stream = env.from_collection([1, 2, 3], Types.LONG()).map(divide).name("divide")
    stream.add_sink(lambda n: None)
    with pytest.raises(Exception, match="division by zero"):
        env.execute("broken")
    views = JobViews(JobRegistry(tmp_path / "jobs"))
    [found] = views.overview()
    assert found.state == "FAILED"
    [failure] = views.exceptions(found.job_id).entries
    assert failure.type == "ZeroDivisionError"
    assert failure.task == "divide"
    assert failure.code == "return 10 / (n - 2)  # the line in question"
    # the line that raised, and the one that made the step, each with its number
    line = divide.__code__.co_firstlineno + 1
    assert failure.raised_at == f"test_views.py:{line} in divide"
    assert str(failure.where).startswith(f"test_views.py:{line + 2} stream = env.")
    assert "ZeroDivisionError" in failure.stacktrace
    assert failure.executor == views.executors(found.job_id)[0]
    assert failure.machine == failure.executor.address == here()
    [told] = views.record(found.job_id).failures
    assert (told["where"], told["raised_at"]) == (failure.where, failure.raised_at)
    assert views.checkpoints(found.job_id).counts.failed == 1


def test_each_of_two_inputs_has_its_watermark(tmp_path: Path) -> None:
    """V10.2: an operator is as far as the slower of its inputs."""
    env = StreamExecutionEnvironment.get_execution_environment(environment(tmp_path))
    env.set_parallelism(1)
    one, two = (
        env.from_collection(times, Types.LONG())
        .assign_timestamps_and_watermarks(
            WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(_Itself())
        )
        .key_by(lambda n: 0)
        for times in ([11], [6])
    )
    both = one.connect(two).process(_Both()).name("both").uid("both")
    both.add_sink(lambda n: None)
    client = env.execute_async("two inputs")
    assert client.wait(60)
    views = JobViews(JobRegistry(tmp_path / "jobs"))
    job_id = views.overview()[0].job_id
    [step] = [o for v in views.vertices(job_id) for o in v.operators if o.uid == "both"]
    # the job has ended, and event time with it: what is looked at here is that there are two
    last = (1 << 63) - 1
    names = ("currentInput1Watermark", "currentInput2Watermark", "currentInputWatermark")
    assert [step.metrics[name] for name in names] == [last] * 3
    metrics = views.job_metrics(job_id)
    assert metrics["runningTimeTotal"] > 0
    assert metrics["runningTime"] == 0


class _Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


class _Both(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


def test_a_job_that_waits_or_was_lost_has_views_without_a_history(tmp_path: Path) -> None:
    registry = JobRegistry(tmp_path)
    gone = JobRecord("ab12", "lost", "RUNNING", this_process().host, 2**22 + 1, "", 5, 9)
    registry.write(gone)
    views = JobViews(registry)
    found = views.job("ab12")
    assert (found.overview.state, found.overview.lost, found.overview.ended) == ("FAILED", True, 9)
    assert (found.vertices, found.plan.nodes) == ((), ())
    assert views.checkpoints("ab12").counts.total == 0
    assert views.exceptions("ab12").entries == ()
    assert views.series("ab12") == ()
    assert views.diagnosis("ab12").slow is None
    assert views.executors() == ()


def test_a_savepoint_is_told_when_it_has_left_the_history(tmp_path: Path) -> None:
    registry, me = JobRegistry(tmp_path), this_process()
    registry.write(JobRecord("ab12", "saved", "RUNNING", me.host, me.pid, me.born, 5, 9))
    kept = CheckpointHistory(kept=2)
    sizes = [(0, {"sum": {"state_bytes": 70, "written_bytes": 7, "records_out": 0}})]
    kept.complete(0, sizes, ())
    kept.saved(0, 1, "/savepoints/1", 70)
    for epoch in (1, 2):
        kept.complete(epoch, sizes, ())
    steps = [{"uid": "sum", "name": "sum", "where": ""}]
    vertex = {"id": "a" * 32, "name": "sum", "parallelism": 1, "level": 0, "steps": steps}
    kept.begin(3)
    folder = registry.history_of("ab12")
    folder.mkdir()
    (folder / "about.json").write_text(json.dumps({"vertices": [vertex]}))
    (folder / "checkpoints.json").write_text(json.dumps(kept.to_json()))
    views = JobViews(registry)
    assert [each.id for each in views.checkpoints("ab12").history] == [5, 4, 3]
    running = views.checkpoints("ab12").history[0]
    told = flink.checkpoint(running)["tasks"]["a" * 32]  # of every vertex, as in Flink
    assert (told["status"], told["num_subtasks"]) == ("IN_PROGRESS", 1)
    assert (told["num_acknowledged_subtasks"], told["latest_ack_timestamp"]) == (0, -1)
    saved = views.checkpoint("ab12", 2)
    assert saved is not None
    assert (saved.is_savepoint, saved.path) == (True, "/savepoints/1")
    assert (saved.size_bytes, saved.vertices[0].size_bytes) == (70, 70)  # it holds all state
    assert views.checkpoint("ab12", 1) is None


def test_epochs_that_take_many_times_their_interval_are_told(tmp_path: Path) -> None:
    registry, me = JobRegistry(tmp_path), this_process()
    registry.write(JobRecord("ab12", "slow", "RUNNING", me.host, me.pid, me.born, 5, 9))
    folder = registry.history_of("ab12")
    folder.mkdir()
    (folder / "about.json").write_text(json.dumps({"interval_ms": 1000}))
    views = JobViews(registry)

    def keep(*durations: int) -> None:
        epoch = {"status": "COMPLETED", "savepoint": False}
        others = [
            {"status": "COMPLETED", "savepoint": True, "duration": 10},
            {"status": "FAILED", "savepoint": False, "duration": 10},
        ]
        history = [*({**epoch, "duration": ms} for ms in durations), *others]
        (folder / "checkpoints.json").write_text(json.dumps({"history": history}))

    keep(900, 12_000, 16_000, 26_000)
    found = views.diagnosis("ab12").epochs
    assert found is not None
    assert (found.count, found.interval_ms, found.duration_ms) == (3, 1000, 26_000)
    assert "max-records-per-batch" in found.fix
    keep(12_000, 16_000, 26_000, 900)
    assert views.diagnosis("ab12").epochs is None


def test_nobody_reads_outside_of_the_registry(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "secret.json").write_text("{}")
    views = JobViews(JobRegistry(tmp_path / "jobs"))
    for text in ("../secret", "", "a/b", ".", "ä" * 8, "x" * 100):
        with pytest.raises(JobNotFoundError) as unknown:
            views.job(text)
        assert str(tmp_path) not in str(unknown.value)  # REST tells it to everybody
        assert views.find(text) is None
    assert views.overview() == ()
    assert JobViews(JobRegistry(tmp_path / "nowhere")).overview() == ()


def test_a_dispatcher_is_not_taken_for_the_driver_of_a_job_that_waits(tmp_path: Path) -> None:
    me = this_process()
    registry = JobRegistry(tmp_path)
    for job_id, has_driver in (("a" * 32, False), ("b" * 32, True)):
        registry.write(
            JobRecord(job_id, "orders", "CREATED", me.host, me.pid, me.born, 1, 1,
                      has_driver=has_driver)
        )  # fmt: skip
    views = JobViews(registry)
    assert views.job("a" * 32).driver is None
    assert views.job("b" * 32).driver == str(me)


def test_half_written_and_foreign_files_are_left_aside(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    (views.registry.folder / "other.json").write_text("{")
    folder = views.registry.history_of(job_id)
    with (folder / "series.jsonl").open("a") as file:
        file.write('{"at": 1, "val{"at": 2}\n')
    assert len(views.overview()) == 1
    assert views.series(job_id)
    (views.registry.folder / "other.json").unlink()


def test_views_are_frozen_and_plain(job: tuple[JobViews, str]) -> None:
    views, job_id = job
    whole = views.job(job_id)
    json.dumps(dataclasses.asdict(whole))
    with pytest.raises(dataclasses.FrozenInstanceError):
        whole.now = 1  # type: ignore[misc]
