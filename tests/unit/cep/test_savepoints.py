"""Partial matches in savepoints, restarts and kills: matches are those of an undisturbed job."""

from __future__ import annotations

import json
import random
import sys
from typing import TYPE_CHECKING, Any

import pytest

from headrace.cep import CEP, Pattern, PatternProcessFunction
from headrace.common import Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.runtime.pages.store import DictStore
from headrace.runtime.savepoint.entries import export
from headrace.runtime.savepoint.files import Claim, SavepointLoader, write_rows
from headrace.runtime.savepoint.spooled import SpooledStore
from headrace.runtime.state.layouts import ProgramLayouts
from headrace.runtime.task import VERSION_KEY
from headrace.testing import LocalRunner
from killing import kill_again_and_again, run_to_end

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WIDTH = 16
UIDS = ("pattern", "dynamic")
_DICE = random.Random(7)
# (key, kind, number), a millisecond apart; some are out of order
EVENTS = [
    (f"k{_DICE.randrange(9)}", _DICE.choice("abc"), number ^ _DICE.randrange(4))
    for number in range(0, 600, 2)
]


def document(version: int, last: str) -> str:
    stages = [
        {"name": "a", "where": "f1 = 'a'"},
        {"name": "b", "after": "followed_by", "where": "f1 = 'b' AND f2 > a.f2", "times": [1, 3]},
        {"name": "c", "after": "followed_by_any", "where": f"f1 = '{last}'"},
    ]
    return json.dumps({"id": "abc", "version": version, "within": 90, "pattern": stages})


DOCUMENTS = [document(1, "c"), document(2, "a")]


class Numbers(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        version = getattr(ctx, "pattern_version", lambda: 0)()
        yield version, [event[2] for events in match.values() for event in events]


def runner(parallelism: int) -> LocalRunner:
    env = StreamExecutionEnvironment.get_execution_environment()
    kind = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])
    mostly = WatermarkStrategy.for_bounded_out_of_orderness(5).with_timestamp_assigner(
        lambda event, _: event[2]
    )
    events = env.from_collection([], kind).assign_timestamps_and_watermarks(mostly)
    keyed = events.key_by(lambda event: event[0], key_type=Types.STRING())
    documents = env.from_collection([], Types.STRING())
    pattern = (
        Pattern.begin("a")
        .where(lambda event: event[1] == "a")
        .followed_by("b")
        .where(lambda event: event[1] == "b")
        .one_or_more()
        .not_followed_by("c")
        .where(lambda event: event[1] == "c")
        .within(70)
    )
    fixed = CEP.pattern(keyed, pattern).process(Numbers()).uid("pattern")
    dynamic = CEP.dynamic_patterns(keyed, documents).process(Numbers()).uid("dynamic")
    return LocalRunner(fixed, dynamic, parallelism=parallelism, max_parallelism=WIDTH)


def first_half(job: LocalRunner) -> list[Any]:
    found = [job.run_batch([], DOCUMENTS[:1]), job.run_batch(EVENTS[:150], [])]
    return [*found, job.run_batch([], DOCUMENTS[1:])]


def second_half(job: LocalRunner) -> list[Any]:
    return [job.run_batch(EVENTS[150:], []), job.end_of_input()]


def matches(batches: list[Any]) -> list[list[str]]:
    """Of each of the two steps, those of all batches."""
    return [sorted(str(m) for batch in batches for m in batch[place]) for place in (0, 1)]


def undisturbed() -> list[list[str]]:
    with runner(2) as job:
        return matches(first_half(job) + second_half(job))


def moved(job: LocalRunner, parallelism: int, folder: Path) -> LocalRunner:
    """Another job, with the state of this one in another number of subtasks."""
    entries: list[Any] = []
    for _, store in sorted(job.stores.items()):
        with SpooledStore(store.content.items()) as pages:
            entries += export(pages, dict.fromkeys(UIDS, WIDTH))
    write_rows(str(folder), "part-0", entries)
    claims = (tuple(Claim(uid, uid, parallelism, WIDTH) for uid in UIDS),)
    parts = ("state/part-0.parquet",)
    loader = SavepointLoader(str(folder), parts, claims, ProgramLayouts.of_driver())
    found = runner(parallelism)
    for subtask in range(parallelism):
        store = found.stores[1, subtask] = DictStore()
        loader(0, subtask, store)
        store.put(VERSION_KEY, b"loaded")
    return found


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_partial_matches_go_on_in_any_number_of_subtasks(parallelism: int, tmp_path: Path) -> None:
    with runner(2) as job:
        before = first_half(job)
        with moved(job, parallelism, tmp_path) as other:
            found = matches(before + second_half(other))
    expected = undisturbed()
    assert found == expected
    assert min(map(len, expected)) > 20
    # old and new versions both found something
    assert {match[1] for match in expected[1]} == {"1", "2"}


def test_partial_matches_survive_a_restart() -> None:
    with runner(2) as job:
        before = first_half(job)
        job.restart()
        assert matches(before + second_half(job)) == undisturbed()


# --- a process that is killed --------------------------------------------------------------------

PROGRAM = """
import sys
from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern
from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy

folder, count, mode = sys.argv[1], int(sys.argv[2]), sys.argv[3]
configuration = Configuration()
configuration.set_string("headrace.execution.host", "local")
configuration.set_string("execution.checkpointing.dir", f"{folder}/checkpoint")
configuration.set_string("headrace.checkpoint.lease", "1 s")
configuration.set_string("source.max-records-per-batch", "40")
if mode == "continuous":
    configuration.set_string("headrace.execution.mode", "continuous")
    configuration.set_string("execution.checkpointing.interval", "30 ms")
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
numbers = env.from_sequence(1, count).uid("numbers").assign_timestamps_and_watermarks(in_order)
# a multiple of 7, and then two of 5 behind each other: matches last over several batches
pattern = (
    Pattern.begin("seven", AfterMatchSkipStrategy.skip_past_last_event())
    .where(lambda n: n % 7 == 0)
    .followed_by("fives").where(lambda n: n % 5 == 0).times(2).within(600)
)
found = CEP.pattern(numbers.key_by(lambda n: n % 11), pattern).select(
    lambda match: {"match": match["seven"] + match["fives"]}
)
rolling = RollingPolicy.on_checkpoint_rolling_policy()
found.uid("pattern").sink_to(FileSink.json(f"{folder}/out", rolling=rolling)).uid("out")
env.execute("patterns")
"""
NUMBERS = 4_000


@pytest.mark.parametrize(
    "mode", ["micro-batch", pytest.param("continuous", marks=pytest.mark.slow)]
)
def test_a_job_that_is_killed_finds_every_match_once(mode: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    # continuous mode is through with as many numbers before it is killed four times
    count = str(NUMBERS if mode == "micro-batch" else 100 * NUMBERS)
    command = [sys.executable, str(program), str(killed), count, mode]
    kill_again_and_again(command, lambda: len(list((killed / "out").glob("part-*"))), seed=3)
    run_to_end([sys.executable, str(program), str(whole), count, mode])
    assert found_in(killed) == found_in(whole)
    assert len(found_in(whole)) > 40


def found_in(folder: Path) -> list[list[int]]:
    lines = [line for file in (folder / "out").glob("part-*") for line in file.open()]
    return sorted(json.loads(line)["match"] for line in lines)
