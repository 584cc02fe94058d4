"""Parts that grow over epochs: what a file sink decides, with plain values and a clock of ours."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from headrace.connectors.files import manifest as rules
from headrace.connectors.files.manifest import (
    CommitPlanner,
    CompactionRules,
    FileCommittable,
    Manifest,
    RollingRules,
    SinkPlaces,
)

PLACES = SinkPlaces("job", "sink")
MINUTE = RollingRules(part_bytes=1000, rollover_ms=60_000, inactivity_ms=60_000)


def planner(
    rolling: RollingRules | None = MINUTE, compaction: CompactionRules | None = None
) -> CommitPlanner:
    return CommitPlanner(PLACES, rolling=rolling, compaction=compaction)


def staged(
    batch: int, size: int = 10, bucket: str = "", subtask: int = 0, part: int = 0
) -> FileCommittable:
    path = PLACES.staged(batch, subtask, "try", part)
    return FileCommittable(path, bucket, subtask, part, 1, size)


class Epochs:
    """Decisions one after the other."""

    def __init__(self, plan: CommitPlanner) -> None:
        self.plan = plan
        self.last: Manifest | None = None
        self.number = -1

    def at(self, now_ms: int, *files: dict[str, object]) -> list[tuple[str, int]]:
        """Ends an epoch: which files come in sight of readers, and of how many each is made."""
        self.number += 1
        made = [staged(self.number, **file) for file in files]  # type: ignore[arg-type]
        self.last = self.plan.plan_batch(self.last, self.number, made, now_ms)
        return in_sight(self.last)

    @property
    def waiting(self) -> int:
        assert self.last is not None
        return len(self.last.pending)


def in_sight(decided: Manifest) -> list[tuple[str, int]]:
    found = [(move.target, 1) for move in decided.moves]
    found += [(merge.target, len(merge.sources)) for merge in decided.merges]
    return [(target, count) for target, count in found if ".headrace" not in target]


def test_a_part_has_the_files_of_all_epochs_until_it_is_old_enough() -> None:
    epochs = Epochs(planner())
    for second in range(1, 61):
        assert epochs.at(second * 1000, {}) == []
    ((name, count),) = epochs.at(61_000, {})
    assert (name.startswith("part-"), count, epochs.waiting) == (True, 61, 0)
    assert epochs.at(62_000, {}) == []


def test_a_part_ends_when_it_is_large_enough() -> None:
    epochs = Epochs(planner())
    assert epochs.at(1000, {"size": 600}) == []
    ((_, count),) = epochs.at(2000, {"size": 400})
    assert count == 2


def test_a_part_ends_when_nothing_has_come_for_long() -> None:
    epochs = Epochs(planner(RollingRules(1000, 60_000, inactivity_ms=5000)))
    epochs.at(1000, {})
    epochs.at(2000, {})
    assert epochs.at(6900) == []
    assert [count for _, count in epochs.at(7000)] == [2]


def test_what_a_long_epoch_wrote_does_not_wait() -> None:
    epochs = Epochs(planner())
    epochs.at(0)
    epochs.at(1, {})
    assert [count for _, count in epochs.at(60_001, {})] == [2]
    assert [count for _, count in epochs.at(121_000, {}, {"subtask": 1})] == [1, 1]


@pytest.mark.parametrize("size", [1000, 5000])
def test_a_full_file_does_not_wait_for_others(size: int) -> None:
    epochs = Epochs(planner())
    assert epochs.at(1000, {"size": size}) != []
    assert epochs.waiting == 0


def test_a_large_file_is_not_copied_to_become_larger() -> None:
    epochs = Epochs(planner(RollingRules(1 << 30, 60_000, 60_000)))
    assert [count for _, count in epochs.at(1000, {"size": rules.LARGE_BYTES})] == [1]


def test_parts_of_a_writer_are_named_in_the_order_of_their_records() -> None:
    """A part that waits ends when a later one does not: what comes then has a later name."""
    epochs = Epochs(planner())
    epochs.at(1000, {}, {"subtask": 1})
    found = epochs.at(2000, {"size": 1000}, {"part": 1})
    assert [name.split("-")[2:] for name, _ in found] == [
        ["0000000001", "00000", "00000"],
        ["0000000000", "00000", "00000"],
    ]
    assert epochs.waiting == 2
    ((name, count),) = epochs.at(3000, {"size": 990})
    assert (name.split("-")[2], count) == ("0000000001", 2)


def test_every_bucket_and_writer_has_parts_of_its_own() -> None:
    epochs = Epochs(planner())
    epochs.at(1000, {"bucket": "a"}, {"bucket": "b", "part": 1}, {"bucket": "a", "subtask": 1})
    found = epochs.at(2000, {"bucket": "a", "size": 990}, {"bucket": "b", "part": 1})
    assert [(name.split("/")[0], count) for name, count in found] == [("a", 2)]
    assert epochs.waiting == 3


def test_a_clock_that_was_set_back_holds_nothing_for_long() -> None:
    epochs = Epochs(planner())
    epochs.at(10_000_000, {})
    assert [count for _, count in epochs.at(5000, {})] == [2]


def test_many_waiting_files_become_one_that_waits() -> None:
    epochs = Epochs(planner(RollingRules(1 << 20, 1_800_000, 1_800_000)))
    count = 3 * rules.FOLDED_AT_ONCE + 5
    for second in range(count):
        assert epochs.at(second * 1000, {}) == []
        assert epochs.waiting <= second // rules.FOLDED_AT_ONCE + rules.FOLDED_AT_ONCE
    assert epochs.waiting == 3 + 5
    assert epochs.last is not None
    assert sum(file.size_bytes for file in epochs.last.pending) == count * 10
    ((name, files),) = epochs.at(1_800_000)
    first = staged(0)
    assert (name, files) == (PLACES.part_name("part", first, 0, ""), 8)


def test_a_flush_makes_parts_of_what_waits() -> None:
    epochs = Epochs(planner())
    epochs.at(1000, {}, {"subtask": 1})
    epochs.at(2000, {})
    assert epochs.last is not None
    flush = epochs.plan.plan_flush(epochs.last, 3000)
    assert sorted(count for _, count in in_sight(flush)) == [1, 2]
    assert (flush.pending, flush.decided_ms) == ((), 3000)


def test_files_are_compacted_when_they_are_whole_parts() -> None:
    minute = RollingRules(1 << 20, 60_000, 60_000)
    epochs = Epochs(planner(minute, CompactionRules(1 << 20, commits_threshold=1)))
    for second in range(1, 61):
        assert epochs.at(second * 1000, {}, {"subtask": 1}) == []
    ((name, count),) = epochs.at(61_000, {})
    assert (name.startswith("compacted-part-"), count) == (True, 121)


def test_without_rules_every_epoch_publishes_its_files() -> None:
    epochs = Epochs(planner(rolling=None))
    assert [count for _, count in epochs.at(1000, {}, {"subtask": 1})] == [1, 1]


def test_a_decision_comes_back_with_its_times() -> None:
    epochs = Epochs(planner())
    epochs.at(1000, {})
    epochs.at(2000, {})
    assert epochs.last is not None
    assert Manifest.from_json(epochs.last.to_json(), "here") == epochs.last


def test_what_waits_since_an_earlier_version_has_waited_long_enough() -> None:
    waiting = {
        "path": "p", "bucket": "", "name": "part-1", "size_bytes": 3, "commits": 1, "shape": "",
    }  # fmt: skip
    stored = {**asdict(Manifest(4, "batch")), "format": 1, "pending": [waiting]}
    del stored["decided_ms"]
    former = Manifest.from_json(json.dumps(stored).encode(), "here")
    decided = planner().plan_batch(former, 5, [], now_ms=1_700_000_000_000)
    assert in_sight(decided) == [("part-1", 1)]
