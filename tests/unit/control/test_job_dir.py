"""Whose checkpoint it is, and whether a program still fits it."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Types, WatermarkStrategy
from headrace.control.fingerprint import Fingerprint, differences, fingerprint
from headrace.control.job_dir import JobDir
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import CheckpointMismatchError
from headrace.plan.planner import PlanOptions, plan
from headrace.testing.programs import program_of

if TYPE_CHECKING:
    from pathlib import Path

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def totals(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([("a", 1)], PAIR).uid("numbers")
    numbers.key_by(lambda pair: pair[0]).sum(1).uid("totals").print().uid("out")


def fingerprint_of(build: Any, *, parallelism: int = 2, maximum: int | None = None) -> Fingerprint:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env)
    graph = program_of(env)
    return fingerprint(graph, plan(graph, PlanOptions(parallelism, maximum)))


def said(build: Any, **options: Any) -> list[str]:
    now = fingerprint_of(build, **options)
    return [difference.what for difference in differences(fingerprint_of(totals), now)]


def test_a_fingerprint_survives_the_disk_and_fits_itself() -> None:
    found = fingerprint_of(totals)
    assert [step.uid for step in found.steps] == ["out", "totals"]
    again = Fingerprint.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert differences(again, found) == []


def test_functions_stateless_steps_and_new_steps_may_change() -> None:
    def changed(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_collection([("a", 1)], PAIR).uid("numbers")
        doubled = numbers.map(lambda pair: (pair[0], pair[1] * 2), PAIR)
        found = doubled.key_by(lambda pair: pair[0]).sum(1).uid("totals").name("a new name")
        found.filter(lambda pair: pair[1] > 0).print().uid("out")
        doubled.key_by(lambda pair: pair[0]).max(1).uid("highest").print().uid("out too")

    assert said(changed) == []


def test_another_parallelism_or_max_parallelism_is_told() -> None:
    assert said(totals, parallelism=3) == [
        "parallelism 3 instead of 2",
        "step 'totals' has parallelism 3 instead of 2",
    ]
    assert said(totals, maximum=64) == ["step 'totals' has max parallelism 64 instead of 128"]


def test_a_step_that_is_gone_changed_or_moved_is_told() -> None:
    def renamed(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_collection([("a", 1)], PAIR).uid("numbers")
        numbers.key_by(lambda pair: pair[0]).sum(1).uid("sums").print().uid("out")

    def another_kind(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_collection([("a", 1)], PAIR).uid("numbers")
        keyed = numbers.key_by(lambda pair: pair[0])
        keyed.map(lambda pair: pair, PAIR).uid("totals").print().uid("out")

    def moved(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_collection([("a", 1)], PAIR).uid("numbers")
        before = numbers.key_by(lambda pair: pair[1]).max(1).uid("before")
        before.key_by(lambda pair: pair[0]).sum(1).uid("totals").print().uid("out")

    assert said(renamed) == ["step 'sum(1)' (uid 'totals', sum) is gone, but its state is stored"]
    assert said(another_kind) == ["step 'totals' has kind map instead of sum"]
    assert "2 stages after an exchange instead of 1" in said(moved)
    assert "step 'totals' has level 2 instead of 1" in said(moved)


def test_other_sources_and_the_need_for_time_are_told() -> None:
    def sequence(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_sequence(1, 3).uid("numbers").map(lambda n: ("a", n), PAIR)
        numbers.key_by(lambda pair: pair[0]).sum(1).uid("totals").print().uid("out")

    def two(env: StreamExecutionEnvironment) -> None:
        one = env.from_collection([("a", 1)], PAIR).uid("numbers")
        other = env.from_collection([("a", 1)], PAIR).uid("others")
        united = one.union(other)
        united.key_by(lambda pair: pair[0]).sum(1).uid("totals").print().uid("out")

    assert said(sequence) == [
        "source 1 is NumberSequenceSource 'numbers' instead of CollectionSource 'numbers'"
    ]
    assert said(two) == ["2 sources instead of 1"]


def test_a_program_without_state_may_change_its_parallelism() -> None:
    def stateless(env: StreamExecutionEnvironment) -> None:
        env.from_collection([1]).map(lambda n: n + 1).print()

    one, three = fingerprint_of(stateless, parallelism=1), fingerprint_of(stateless, parallelism=3)
    assert differences(one, three) == []


# --- job.json ------------------------------------------------------------------------------------


@pytest.fixture
def checkpoint(tmp_path: Path) -> JobDir:
    job_dir = JobDir.open(str(tmp_path / "cp"))
    job_dir.write_identity(None, "ab12", "orders", fingerprint_of(totals))
    return job_dir


def check(job_dir: JobDir, name: str, now: Fingerprint, *, drop: bool = False) -> None:
    job_dir.check_fits(job_dir.read_identity(), name, now, drop_unclaimed=drop)


def test_looking_at_a_new_directory_makes_nothing(tmp_path: Path) -> None:
    job_dir = JobDir.open(str(tmp_path / "cp"))
    assert job_dir.read_identity() is None
    check(job_dir, "orders", fingerprint_of(totals))
    assert not (tmp_path / "cp").exists()


def test_the_same_job_goes_on_under_its_id(checkpoint: JobDir) -> None:
    stored = checkpoint.read_identity()
    assert stored is not None
    assert stored.job_id == "ab12"
    check(checkpoint, "orders", fingerprint_of(totals))
    checkpoint.write_identity(stored, "ab12", "orders", fingerprint_of(totals))
    assert checkpoint.read_identity() == stored


def test_another_job_is_refused(checkpoint: JobDir) -> None:
    with pytest.raises(CheckpointMismatchError, match="belongs to job 'orders', but this is job"):
        check(checkpoint, "clicks", fingerprint_of(totals))


def test_a_program_that_does_not_fit_is_refused_with_all_that_differs(checkpoint: JobDir) -> None:
    with pytest.raises(CheckpointMismatchError) as caught:
        check(checkpoint, "orders", fingerprint_of(totals, parallelism=4))
    assert "parallelism 4 instead of 2; step 'totals'" in caught.value.message
    assert "savepoint" in str(caught.value.fix)
    assert caught.value.where == checkpoint.location


def test_state_without_a_step_may_be_let_go(checkpoint: JobDir) -> None:
    now = fingerprint_of(totals)
    fewer = dataclasses.replace(now, steps=now.steps[:1])
    with pytest.raises(CheckpointMismatchError, match="is gone") as caught:
        check(checkpoint, "orders", fewer)
    assert "ignore-unclaimed-state" in str(caught.value.fix)
    check(checkpoint, "orders", fewer, drop=True)
    with pytest.raises(CheckpointMismatchError):
        check(checkpoint, "orders", dataclasses.replace(fewer, slots=9), drop=True)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read"),
        ("{}", "cannot be read"),
        ('{"format": 99, "job_id": "ab12", "headrace": "9.0"}', "by headrace 9.0, in format 99"),
    ],
)
def test_an_identity_that_cannot_be_read_protects_the_checkpoint(
    checkpoint: JobDir, content: str, said: str
) -> None:
    checkpoint.storage.write_atomic("job.json", content.encode())
    with pytest.raises(CheckpointMismatchError, match=said):
        checkpoint.read_identity()


def test_a_checkpoint_with_an_id_only_is_adopted(checkpoint: JobDir) -> None:
    checkpoint.storage.write_atomic("job.json", b'{"job_id": "ab12"}')
    stored = checkpoint.read_identity()
    assert stored is not None
    assert (stored.job_id, stored.name, stored.fingerprint) == ("ab12", None, None)
    check(checkpoint, "whatever", fingerprint_of(totals))


def test_deleting_leaves_what_is_not_headraces(checkpoint: JobDir, tmp_path: Path) -> None:
    folder = tmp_path / "cp"
    (folder / "query" / "offsets").mkdir(parents=True)
    (folder / "notes.txt").touch()
    checkpoint.delete()
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    (folder / "notes.txt").unlink()
    checkpoint.delete()
    assert not folder.exists()


def test_watermarks_make_commands_a_source() -> None:
    def timed(env: StreamExecutionEnvironment) -> None:
        numbers = env.from_collection([("a", 1)], PAIR).uid("numbers")
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        stamped = numbers.rebalance().assign_timestamps_and_watermarks(strategy)
        stamped.key_by(lambda pair: pair[0]).sum(1).uid("totals").print().uid("out")

    assert "the program needs timers or watermarks" in said(timed)
    back = differences(fingerprint_of(timed), fingerprint_of(totals))
    assert "the program no longer needs timers or watermarks" in [found.what for found in back]
    assert any("'Timestamps/Watermarks'" in found.what and found.dropped for found in back)
