"""Who leads, by files: with a clock that the test moves."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from headrace.dispatcher.file_election import FileElection
from headrace.dispatcher.leadership import LeaderEpochs

if TYPE_CHECKING:
    from pathlib import Path


class Clock:
    """Stands still."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Candidate(FileElection):
    """Looks when the test says so, and remembers what it was told."""

    def __init__(self, folder: Path, name: str) -> None:
        self.own_clock = Clock()
        super().__init__(folder, name, lease_s=8.0, clock=self.own_clock)
        self.gained: list[int] = []
        self.lost = 0
        self._on_gain, self._on_loss = self.gained.append, self._note_loss

    def _note_loss(self) -> None:
        self.lost += 1

    def after(self, seconds: float) -> Candidate:
        self.own_clock.now += seconds
        self.look()
        return self


def test_one_leads_and_the_other_waits(tmp_path: Path) -> None:
    one, two = Candidate(tmp_path, "http://one"), Candidate(tmp_path, "http://two")
    one.look()
    for _ in range(20):  # the leader renews in time
        one.after(1.0)
        two.after(1.0)
    assert (one.gained, two.gained) == ([1], [])
    assert one.leads()
    assert not two.leads()
    assert two.leader() is not None
    assert two.leader().address == "http://one"  # type: ignore[union-attr]


def test_a_silent_leader_is_replaced_after_its_lease_and_gives_way(tmp_path: Path) -> None:
    one, two = Candidate(tmp_path, "http://one"), Candidate(tmp_path, "http://two")
    one.look()
    two.look()
    two.after(7.9)
    assert two.gained == []
    two.after(0.2)
    assert two.gained == [2]
    # the first was suspended meanwhile: before it looks, it does not act
    assert not one.leads()
    one.after(8.1)
    assert one.lost == 1
    one.after(1.0)
    assert one.gained == [1]  # it waits like everybody


def test_a_leader_that_was_suspended_alone_does_not_act_before_it_has_looked(
    tmp_path: Path,
) -> None:
    one = Candidate(tmp_path, "http://one")
    one.look()
    one.own_clock.now += 9.0
    assert not one.leads()  # another one may lead by now
    one.look()
    assert one.leads()  # none does
    assert one.lost == 0


def test_two_that_see_the_same_silence_do_not_both_lead(tmp_path: Path) -> None:
    one, two = Candidate(tmp_path, "http://one"), Candidate(tmp_path, "http://two")
    LeaderEpochs(tmp_path / "epochs").claim(5, "http://before")
    for candidate in (one, two):
        candidate.look()
        candidate.own_clock.now += 9.0
    one.look()
    two.look()
    assert (one.gained, two.gained) == ([6], [])


def test_who_leaves_need_not_be_waited_for(tmp_path: Path) -> None:
    one, two = Candidate(tmp_path, "http://one"), Candidate(tmp_path, "http://two")
    one.look()
    two.look()
    one.close()
    assert two.leader() is None
    two.look()
    assert two.gained == [2]


def test_a_dead_leader_of_this_machine_is_seen_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path;"
        "from headrace.dispatcher.leadership import LeaderEpochs;"
        "print(LeaderEpochs(Path(sys.argv[1])).claim_next('http://dead'))"
    )
    claimed = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "epochs")], capture_output=True, check=True
    )
    assert json.loads(claimed.stdout) == 1
    two = Candidate(tmp_path, "http://two")
    two.look()
    assert two.gained == [2]


def test_epochs_only_grow_and_old_ones_are_forgotten(tmp_path: Path) -> None:
    epochs = LeaderEpochs(tmp_path)
    assert [epochs.claim_next("a") for _ in range(30)] == list(range(1, 31))
    assert not epochs.claim(30, "b")
    assert len(list(tmp_path.glob("*.json"))) == 21
    assert epochs.highest() == 30
