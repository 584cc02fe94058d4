"""An operator with layouts that headrace knows nothing of: savepoints, rescaling, tables follow."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

import tallies
from headrace.common import Types
from headrace.control.fingerprint import fingerprint
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import InvalidArgumentError, StateError
from headrace.plan.planner import PlanOptions, plan
from headrace.runtime.pages.store import DictStore
from headrace.runtime.savepoint.entries import DECLARED, EVERYWHERE, SavedEntry, export, load
from headrace.runtime.savepoint.files import Claim, SavepointLoader, summarize, write_rows
from headrace.runtime.savepoint.spooled import SpooledStore
from headrace.runtime.savepoint.table_rows import StateTable
from headrace.runtime.state.declared import DECLARED_KEY, DeclaredStates
from headrace.runtime.state.layouts import ProgramLayouts, layout_of
from headrace.runtime.task import VERSION_KEY
from headrace.spi.state import StateSpec, registered_layouts
from headrace.testing.local_runner import LocalRunner
from headrace.testing.programs import graph_of
from tallies import DAY, LARGEST, TALLIES, tally

if TYPE_CHECKING:
    from pathlib import Path

WIDTH = 16
FIRST = [(f"k{number % 7}", number) for number in range(250)]
SECOND = [(f"k{number % 9}", number) for number in range(120, 240)]


def runner(parallelism: int) -> LocalRunner:
    env = StreamExecutionEnvironment.get_execution_environment()
    pairs = env.from_collection([], type_info=Types.TUPLE([Types.STRING(), Types.LONG()]))
    results = tally(pairs.key_by(lambda pair: pair[0], key_type=Types.STRING()))
    return LocalRunner(results, parallelism=parallelism, max_parallelism=WIDTH)


def saved(job: LocalRunner) -> list[SavedEntry]:
    """What a savepoint of all subtasks holds."""
    found: list[SavedEntry] = []
    for _, store in sorted(job.stores.items()):
        with SpooledStore(store.content.items()) as pages:
            found += export(pages, {"tally": WIDTH})
    return found


def begun_with(entries: list[SavedEntry], parallelism: int, folder: Path) -> LocalRunner:
    """A job that starts from a savepoint, in some number of subtasks."""
    write_rows(str(folder), "part-0", entries)
    claims = ((Claim("tally", "tally", parallelism, WIDTH),),)
    layouts = ProgramLayouts.of_driver()
    loader = SavepointLoader(str(folder), ("state/part-0.parquet",), claims, layouts)
    job = runner(parallelism)
    for subtask in range(parallelism):
        store = job.stores[1, subtask] = DictStore()
        loader(0, subtask, store)
        store.put(VERSION_KEY, b"loaded")
    return job


def after(first: list[Any], second: list[Any]) -> list[Any]:
    """What the second part gives: counts go on, and all subtasks know the largest of all."""
    counts, found = Counter((key, number // DAY) for key, number in first), []
    for key, number in second:
        day = number // DAY
        counts[key, day] += 1
        found.append((key, day, counts[key, day], len(first) - 1))
    return sorted(found)


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
def test_it_goes_on_in_any_number_of_subtasks(parallelism: int, tmp_path: Path) -> None:
    with runner(2) as job:
        job.run_batch(FIRST)
        entries = saved(job)
    with begun_with(entries, parallelism, tmp_path / "one") as job:
        assert plain(saved(job)) == plain(entries)
        half = len(SECOND) // 2
        found = job.run_batch(SECOND[:half])
        job.restart()  # layouts survive that anyway
        found += job.run_batch(SECOND[half:])
        assert sorted(found) == after(FIRST, SECOND)
        again = saved(job)
    with begun_with(again, 2, tmp_path / "two") as job:
        assert sorted(job.run_batch([("k1", 5)])) == [
            ("k1", 0, 1 + sum(pair[0] == "k1" and pair[1] < DAY for pair in FIRST), 249)
        ]


def plain(entries: list[SavedEntry]) -> dict[Any, Any]:
    """Counts by place: of the largest number, that of all."""
    keyed = {entry[:5]: entry.value for entry in entries if entry.key_group >= 0}
    numbers = [entry.value for entry in entries if entry.key_group == EVERYWHERE]
    return {**keyed, LARGEST.name: max(numbers)}


def test_keys_tell_where_entries_go_and_savepoints_tell_their_layouts(tmp_path: Path) -> None:
    with runner(2) as job:
        job.run_batch(FIRST)
        entries = saved(job)
        declared = DeclaredStates.of(job.stores[1, 0])
        assert job.stores[1, 0].get(DECLARED_KEY) == job.stores[1, 1].get(DECLARED_KEY)
    assert declared.of_operator("tally")[TALLIES.name] == TALLIES
    assert declared.of_operator("tally")[TALLIES.name].home == "tallies"
    assert declared.state_of("tally", "tallies/3") == TALLIES
    assert declared.state_of("tally", "user/a/b") == StateSpec("user/a/b", "table")
    assert [e.value["layout"] for e in entries if e.key_group == DECLARED] == [
        "largest", "tallies", "largest", "tallies",
    ]  # fmt: skip
    write_rows(str(tmp_path), "part-0", entries)
    found = summarize(str(tmp_path), ["state/part-0.parquet"])
    assert found["tally", "tallies"].entries == len({(k, n // DAY) for k, n in FIRST})
    assert found["tally", "tallies"].declared["layout"] == "tallies"


def test_its_entries_are_rows_of_a_table() -> None:
    table = StateTable("tallies", declared=TALLIES)
    assert table.columns == ("key", "day", "value")
    assert list(table.rows(SavedEntry("tally", "tallies", 3, "k1", 2, 15))) == [("k1", 2, 15)]


def test_the_step_counts_as_one_that_keeps_state() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    pairs = env.from_collection([("a", 1)])
    tally(pairs.key_by(lambda pair: pair[0])).map(str).print()
    physical = plan(graph_of(env), PlanOptions(2))
    kept = [step.uid for step in fingerprint(graph_of(env), physical).steps if step.kind != "sink"]
    assert kept == ["tally"]


def test_a_process_without_the_program_imports_the_layout_or_says_what_is_missing() -> None:
    known = registered_layouts()
    spec = StateSpec("tallies", "tallies", home="tallies")
    del known["tallies"], sys.modules["tallies"]
    try:
        assert type(layout_of(spec)).__name__ == "TallyLayout"
    finally:
        sys.modules["tallies"] = tallies
        known["tallies"] = tallies.TallyLayout("tallies")
    with pytest.raises(StateError, match="in the layout 'rings', which is not known here") as error:
        layout_of(StateSpec("ring", "rings", home="no_such_package.rings"))
    assert "no_such_package.rings" in str(error.value.fix)
    with pytest.raises(StateError, match="rings"):
        load(
            DictStore(),
            [
                SavedEntry(
                    "op", "ring", DECLARED, None, None, {"layout": "rings", "scope": "keyed"}
                ),
                SavedEntry("op", "ring", 3, "k", None, 1),
            ],
        )
    assert importlib.import_module("tallies") is tallies


def test_a_state_without_a_layout_stays_in_its_subtask() -> None:
    with pytest.raises(InvalidArgumentError, match="has layout None and scope 'keyed'"):
        StateSpec("mine", None)
    with pytest.raises(InvalidArgumentError, match="scope 'subtask'"):
        StateSpec("mine", "table", "subtask")
