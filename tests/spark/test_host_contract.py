"""The contract of hosts (tests/host_contract.py) on Spark's micro-batches and in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types
from headrace.errors import ConfigurationError, SavepointError, UnsupportedStepError
from host_contract import *  # noqa: F403 - its tests
from host_contract import (
    Alarms,
    Epochs,
    Job,
    LinesJob,
    Unread,
    moves_between_hosts,
    refuses_the_checkpoint_of,
)
from patience import wait_until

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=["local", "spark"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Job:
    session = request.getfixturevalue("spark") if request.param == "spark" else None
    return Job(request.param, tmp_path, session)


@pytest.mark.parametrize("kind", [Job, LinesJob])
@pytest.mark.parametrize(("first", "second"), [("local", "spark"), ("spark", "local")])
def test_a_savepoint_of_one_host_is_restored_on_another(
    first: str, second: str, kind: type[Job], tmp_path: Path, spark: Any
) -> None:
    moves_between_hosts(first, second, tmp_path, spark, kind)


def test_a_file_that_is_half_read_goes_on_in_python_only(tmp_path: Path, spark: Any) -> None:
    job = LinesJob("local", tmp_path, spark)
    job.write("large", *[("x", 1)] * 3000)
    slow: Any = {
        "source__max_records_per_batch": "10",
        "execution__checkpointing__interval": "30 ms",
    }
    env = job.env(**slow)
    job.totals(env)
    client = env.execute_async("totals")
    wait_until(lambda: bool(job.results()))
    location = client.stop_with_savepoint(False, str(tmp_path / "savepoints")).result()
    assert len(job.results()) < 3000
    on_spark = LinesJob("spark", tmp_path, spark)
    on_spark.checkpoint = tmp_path / "on spark"
    env = on_spark.env(execution__state_recovery__path=location)
    on_spark.totals(env, bounded=True)
    with pytest.raises(SavepointError, match=r"has read a part of .*large\.txt"):
        env.execute("totals")
    job.checkpoint = tmp_path / "again"
    env = job.env(execution__state_recovery__path=location)
    job.totals(env, bounded=True)
    env.execute("totals")
    assert len(job.results()) == 3000


def test_batch_mode_gives_one_result_a_key(job: Job) -> None:
    from headrace.datastream import RuntimeExecutionMode

    job.write("a", ("x", 1), ("y", 2), ("x", 3))
    env = job.env()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    sums = job.source(env, bounded=True).key_by(lambda pair: pair[0]).sum(1)
    with sums.execute_and_collect("sums") as found:
        assert sorted(found) == [("x", 4), ("y", 2)]


# --- what is refused -----------------------------------------------------------------------------


def test_the_local_host_says_what_only_spark_can_read(tmp_path: Path) -> None:
    from headrace.datastream.connectors.file_system import FileSource, StreamFormat

    job = Job("local", tmp_path, None)
    env = job.env()
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(job.input))
    env.from_source(lines.set_option("wholetext", "true").build(), None, "lines").print()
    with pytest.raises(UnsupportedStepError, match="the option 'wholetext'") as refused:
        env.execute("lines")
    assert "test_host_contract.py" in str(refused.value.where)
    env = job.env()
    env.from_source(Unread(), None, "unread").print()
    with pytest.raises(UnsupportedStepError, match="the local host has no reader") as refused:
        env.execute("unread")
    assert "test_host_contract.py" in str(refused.value.where)
    with pytest.raises(UnsupportedStepError, match="needs Spark"):
        env.get_spark_session()


def test_an_unknown_host_is_named_with_those_that_are_known(tmp_path: Path) -> None:
    env = Job("spork", tmp_path, None).env()
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="no host 'spork'") as refused:
        env.execute("job")
    assert refused.value.fix == "did you mean 'spark'?"


@pytest.mark.parametrize(("first", "second"), [("local", "spark"), ("spark", "local")])
def test_the_checkpoint_of_another_host_is_refused(
    first: str, second: str, tmp_path: Path, spark: Any
) -> None:
    refuses_the_checkpoint_of(first, second, tmp_path, spark)


def test_commands_that_have_piled_up_are_read_in_one_batch(tmp_path: Path, spark: Any) -> None:
    job = Job("spark", tmp_path, spark)
    expected: list[str] = []
    for run in range(2):
        job.write(f"run-{run}", (f"x{run}", 0))
        for number in range(3 * run):  # as ticks do while a job fails and starts again
            command = job.checkpoint / "control" / f"{number:020d}-tick.txt"
            command.write_text("tick\n")
        env = job.env()
        rows = job.source(env, bounded=True).key_by(lambda pair: pair[0])
        sink = Epochs(job.out / "rows", "none")
        job.out.mkdir(exist_ok=True)
        rows.process(Alarms(), Types.STRING()).uid("alarms").sink_to(sink).uid("rows")
        env.execute("alarms")
        expected.append(f"x{run} seen")
        assert sink.rows() == expected
