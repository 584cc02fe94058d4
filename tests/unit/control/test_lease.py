"""One driver at a time on a checkpoint directory, also after crashes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import CheckpointLockedError, ConnectorError, JobError
from headrace.io.lease import LOCK_FILE, Lease
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.while_asleep: Callable[[], None] = lambda: None

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.while_asleep()


def lease_on(folder: Path, clock: Clock | None = None, name: str = "job") -> Lease:
    clock = clock or Clock()
    return Lease(Storage.open(str(folder)), name, local_path=folder, clock=clock, sleep=clock.sleep)


class Outage(Storage):
    """A storage that fails while `down` is true."""

    down = False
    loses_lock = False

    def read(self, path: str) -> bytes:
        if self.loses_lock:
            self.delete(path)
        self._fail_if_down("read", path)
        return super().read(path)

    def write_atomic(self, path: str, content: bytes) -> None:
        self._fail_if_down("write", path)
        super().write_atomic(path, content)

    def _fail_if_down(self, verb: str, path: str) -> None:
        with self.explained(verb, path):
            if self.down:
                raise OSError("connection reset")


def content(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / LOCK_FILE).read_text()))


def change(folder: Path, **fields: Any) -> None:
    (folder / LOCK_FILE).write_text(json.dumps({**content(folder), **fields}))


def test_a_second_driver_is_refused_and_told_who_runs(tmp_path: Path) -> None:
    first = lease_on(tmp_path, name="orders")
    first.acquire()
    before = content(tmp_path)
    with pytest.raises(CheckpointLockedError, match=r"'orders' is running .* process \d+ on"):
        lease_on(tmp_path).acquire()
    assert content(tmp_path) == before

    first.release()
    assert not (tmp_path / LOCK_FILE).exists()
    lease_on(tmp_path).acquire()


def test_a_dead_driver_of_this_machine_is_replaced_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from headrace.io.lease import Lease\n"
        "from headrace.io.storage import Storage\n"
        "Lease(Storage.open(sys.argv[1]), 'dead', local_path=Path(sys.argv[1])).acquire()\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    assert content(tmp_path)["job"] == "dead"

    clock = Clock()
    lease_on(tmp_path, clock, "next").acquire()

    assert content(tmp_path)["job"] == "next"
    assert clock.now == 0


def test_a_later_process_with_the_same_pid_is_not_the_owner(tmp_path: Path) -> None:
    lease_on(tmp_path).acquire()
    change(tmp_path, born="1")
    lease_on(tmp_path, name="next").acquire()
    assert content(tmp_path)["job"] == "next"


def test_a_silent_driver_of_another_machine_is_replaced_after_its_lease(tmp_path: Path) -> None:
    lease_on(tmp_path).acquire()
    change(tmp_path, host="elsewhere", lease_s=12)
    clock = Clock()
    lease_on(tmp_path, clock, "next").acquire()
    assert content(tmp_path)["job"] == "next"
    assert 12 <= clock.now < 13


def test_a_driver_of_another_machine_that_gives_a_sign_of_life_keeps_its_lock(
    tmp_path: Path,
) -> None:
    lease_on(tmp_path, name="far").acquire()
    change(tmp_path, host="elsewhere")
    clock = Clock()
    clock.while_asleep = lambda: change(tmp_path, beat=1) if clock.now > 5 else None
    with pytest.raises(CheckpointLockedError, match="'far' is running"):
        lease_on(tmp_path, clock).acquire()
    assert clock.now < 6


def test_a_driver_that_was_taken_for_dead_finds_out_and_leaves_the_new_lock_alone(
    tmp_path: Path,
) -> None:
    clock = Clock()
    slow = lease_on(tmp_path, clock, "slow")
    slow.acquire()
    change(tmp_path, born="1")
    lease_on(tmp_path, name="next").acquire()

    slow.renew()  # not yet time to look
    clock.now += 11
    with pytest.raises(JobError, match="taken over by process"):
        slow.renew()
    slow.release()
    assert content(tmp_path)["job"] == "next"


def test_renewing_is_a_sign_of_life_every_third_of_the_lease(tmp_path: Path) -> None:
    clock = Clock()
    lease = lease_on(tmp_path, clock)
    lease.acquire()
    beats = []
    for _ in range(30):
        clock.now += 1
        lease.renew()
        beats.append(content(tmp_path)["beat"])
    assert (beats[8], beats[9], beats[28], beats[29]) == (0, 1, 2, 3)


def test_a_cut_off_lock_file_protects_nobody(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).write_text('{"host": "x", "pi')
    lease_on(tmp_path, name="next").acquire()
    assert content(tmp_path)["job"] == "next"


def test_of_two_newcomers_one_gets_the_lock(tmp_path: Path) -> None:
    lease_on(tmp_path).acquire()
    change(tmp_path, host="elsewhere", lease_s=3)
    clock = Clock()
    other = lease_on(tmp_path, name="faster")

    def hurry() -> None:
        if clock.now > 2:
            clock.while_asleep = lambda: None
            other._write()

    clock.while_asleep = hurry
    with pytest.raises(CheckpointLockedError, match="'faster' is running"):
        lease_on(tmp_path, clock).acquire()


# --- a storage that cannot be reached ------------------------------------------------------------


def test_a_lock_that_cannot_be_read_lets_no_newcomer_in(tmp_path: Path) -> None:
    lease_on(tmp_path, name="orders").acquire()
    change(tmp_path, host="elsewhere")
    before = content(tmp_path)
    storage = Outage.open(str(tmp_path))
    storage.down = True
    newcomer = Lease(storage, "next", local_path=tmp_path)
    with pytest.raises(ConnectorError, match=r"lock\.json, cannot be read.*connection reset"):
        newcomer.acquire()
    assert content(tmp_path) == before


def test_a_lock_that_cannot_be_read_any_more_is_not_taken_for_gone(tmp_path: Path) -> None:
    lease_on(tmp_path, name="orders").acquire()
    change(tmp_path, host="elsewhere")
    storage, clock = Outage.open(str(tmp_path)), Clock()

    def fail() -> None:
        storage.down = clock.now > 5

    clock.while_asleep = fail
    newcomer = Lease(storage, "next", local_path=tmp_path, clock=clock, sleep=clock.sleep)
    with pytest.raises(ConnectorError, match="cannot be read"):
        newcomer.acquire()
    assert content(tmp_path)["job"] == "orders"


def test_a_lock_that_goes_away_while_it_is_read_is_no_lock(tmp_path: Path) -> None:
    lease_on(tmp_path, name="orders").acquire()
    storage = Outage.open(str(tmp_path))
    storage.loses_lock = True
    newcomer = Lease(storage, "next", local_path=tmp_path)
    newcomer.acquire()
    assert content(tmp_path)["job"] == "next"


@pytest.mark.parametrize("fails", ["read", "write_atomic"])
def test_a_driver_outlives_an_outage_that_is_shorter_than_its_lease(
    tmp_path: Path, fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, clock = Outage.open(str(tmp_path)), Clock()
    lease = Lease(storage, "orders", clock=clock, sleep=clock.sleep)
    lease.acquire()
    other = "write_atomic" if fails == "read" else "read"
    monkeypatch.setattr(storage, other, getattr(Storage.open(str(tmp_path)), other))
    storage.down = True
    clock.now += 11
    for _ in range(18):
        with pytest.raises(ConnectorError):
            lease.renew()
        clock.now += 1
    storage.down = False
    lease.renew()
    assert content(tmp_path)["beat"] >= 1

    storage.down = True
    clock.now += 31
    with pytest.raises(JobError, match=r"not be renewed for 31 s.*connection reset") as caught:
        lease.renew()
    assert "headrace.checkpoint.lease" in str(caught.value.fix)


def test_a_newcomer_that_cannot_see_whether_it_won_leaves_no_lock_behind(tmp_path: Path) -> None:
    storage, clock = Outage.open(str(tmp_path)), Clock()
    reads = iter([True, False])  # down at the look who won, back when the lock is given free
    read = storage.read

    def flaky(path: str) -> bytes:
        storage.down = next(reads, False)
        return read(path)

    storage.read = flaky  # type: ignore[method-assign]
    newcomer = Lease(storage, "next", clock=clock, sleep=clock.sleep)
    with pytest.raises(ConnectorError, match="cannot be read"):
        newcomer.acquire()
    assert not (tmp_path / LOCK_FILE).exists()


def test_a_lock_that_is_given_up_while_it_is_renewed_does_not_come_back(tmp_path: Path) -> None:
    """The thread that renews and the one that ends the job are two."""
    storage, clock = Storage.open(str(tmp_path)), Clock()
    lease = Lease(storage, "orders", local_path=tmp_path, clock=clock, sleep=clock.sleep)
    lease.acquire()
    read = storage.read
    ends = threading.Thread(target=lease.release)

    def meanwhile(path: str) -> bytes:
        content = read(path)
        if ends.ident is None:
            ends.start()
            ends.join(0.1)  # it is over, or waits
        return content

    storage.read = meanwhile  # type: ignore[method-assign]
    clock.now += 11
    lease.renew()
    ends.join(30)
    assert not (tmp_path / LOCK_FILE).exists()
    clock.now += 11
    lease.renew()
    assert not (tmp_path / LOCK_FILE).exists()
