"""The names of what a job has stored: told by tasks, kept beside the checkpoint; no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Types
from headrace.control.fingerprint import Fingerprint, KeptStep
from headrace.control.job_dir import JobDir
from headrace.control.restore import Match, restored_states
from headrace.control.savepoints import read_savepoint
from headrace.control.state_names import FILE, StateNames
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.errors import StateError
from headrace.io.storage import Storage
from headrace.runtime.exchange.buffers import MESSAGE, TO_DRIVER, message_frame
from headrace.runtime.exchange.outbox import Outbox
from headrace.runtime.messages import read_messages
from headrace.runtime.pages.store import DictStore
from headrace.runtime.state.declared import DeclaredStates
from headrace.runtime.state.kept import KeptStates
from headrace.runtime.state.provider import USER_STATES, StateProvider
from headrace.runtime.timers import EVENT_TIMERS, TimerQueue
from headrace.spi.state import StateSpec
from headrace.state import Savepoint, first_rows, read, states_in

TOTAL = {"kind": "value", "type": "long", "ttl": False, "key_type": None}
COUNT = KeptStep("count", "process", "Count", 1, 2, 128)


# --- what a task notices -------------------------------------------------------------------------


def test_states_and_timers_are_noticed_once_with_their_types() -> None:
    inner = DictStore()
    kept = KeptStates(inner)
    store = kept.store_of("count", (USER_STATES, EVENT_TIMERS))
    states = StateProvider(store, "count")
    total = states.value(ValueStateDescriptor("total", Types.LONG()))
    states.list(ListStateDescriptor("unused", Types.LONG()))
    timers = TimerQueue(store, "count/timers/event")
    assert kept.take_news() == {}  # declared, but nothing is stored

    for batch in range(2):
        states.scope.set("ann")
        total.update(batch)
        timers.register(10 + batch, "ann", None)
        states.flush()
        timers.flush()
        expected = {"user/total": TOTAL, "timers/event": {}}
        assert kept.take_news() == ({"count": expected} if batch == 0 else {})

    kept.reload()  # what was told may be lost
    total.update(7)
    states.flush()
    assert "user/total" in kept.take_news()["count"]
    assert store.get(next(iter(inner.content))) is not None


def test_what_is_told_is_what_the_list_beside_the_pages_says() -> None:
    inner = DictStore()
    kept = KeptStates(inner)
    store = kept.store_of("count", (StateSpec("mine/", "table"), StateSpec("own", None, "subtask")))
    for name in (b"count/mine/a\0page", b"count/own\0page", b"count/mine/b\0page"):
        store.put(name, b"")
    kept.write()
    told = kept.take_news()["count"]
    beside = DeclaredStates.of(inner)
    found = {beside.state_of("count", path) for path in ("mine/a", "own", "mine/b")}
    assert set(told) == {state.name for state in found if state.layout} == {"mine/a", "mine/b"}


def test_the_messages_of_all_tasks_are_one_list() -> None:
    outbox = Outbox(1)
    told: tuple[dict[str, Any], ...] = (
        {"user/total": TOTAL},
        {"user/total": {}, "timers/event": {}},
    )
    for news in told:
        outbox.add(0, message_frame(MESSAGE, TO_DRIVER, ("states", "count", news)))
    found = read_messages(packet.content for packet in outbox.take_all())
    assert found.states == {"count": {"user/total": TOTAL, "timers/event": {}}}


# --- the file ------------------------------------------------------------------------------------


def test_the_file_is_written_when_something_is_new(tmp_path: Path) -> None:
    names = StateNames(Storage.open(str(tmp_path)))
    names.begin({})
    assert names.read() == {}
    names.add({"count": {"user/total": TOTAL}})
    (tmp_path / FILE).unlink()
    names.add({"count": {"user/total": {}}})  # known, and no less known of it
    assert not (tmp_path / FILE).exists()
    names.add({"count": {"timers/event": {}}, "rules": {"broadcast/limits": {}}})
    assert StateNames(Storage.open(str(tmp_path))).read() == {
        "count": {"user/total": TOTAL, "timers/event": {}},
        "rules": {"broadcast/limits": {}},
    }


def test_a_directory_of_an_earlier_version_gets_no_file(tmp_path: Path) -> None:
    names = StateNames(Storage.open(str(tmp_path)))
    names.add({"count": {"user/total": TOTAL}})
    assert names.read() is None
    assert list(tmp_path.iterdir()) == []


def test_a_restored_job_begins_with_the_states_of_its_savepoint(tmp_path: Path) -> None:
    made = Savepoint.new().with_state("count", "total", [("ann", 1)], type_info=Types.LONG())
    made = made.with_state("gone", "x", [("ann", 1)])
    saved = read_savepoint(made.write(str(tmp_path / "saved")))
    matches = [Match("sums", "kept", "", "count"), Match("gone", "dropped", "", "gone")]
    assert restored_states(saved, matches) == {"sums": {"user/total": TOTAL}}


# --- who reads it --------------------------------------------------------------------------------


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    location = tmp_path / "orders"
    (location / "query/commits").mkdir(parents=True)
    (location / "query/commits/4").write_text("v1")
    job_dir = JobDir.open(str(location))
    job_dir.write_identity(None, "a" * 32, "orders", Fingerprint((), 1, 2, False, (COUNT,)))
    job_dir.states.begin({"count": {"user/total": TOTAL, "timers/event": {}}})
    return str(location)


WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None  # whoever imports it fails
from headrace.cli.main import app
app(["state", *sys.argv[1:]])
"""


def headrace_state(*words: str) -> Any:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *words], capture_output=True, text=True, check=False
    )


def test_wrong_names_in_a_checkpoint_are_told_without_spark(checkpoint: str) -> None:
    state = headrace_state("read", checkpoint, "count", "totla")
    assert state.returncode == 2
    assert "operator 'count' has no state 'totla'" in state.stderr
    assert "did you mean 'total'? its states are timers/event, user/total" in state.stderr
    operator = headrace_state("read", checkpoint, "cuont", "total")
    assert operator.returncode == 2
    assert "did you mean 'count'? its operators are count" in operator.stderr


def test_the_states_of_a_checkpoint_are_listed_without_spark(checkpoint: str) -> None:
    shown = headrace_state("list", checkpoint)
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["operator", "state", "type", "entries"],
        ["count", "timers/event"],
        ["count", "user/total", "value", "of", "LONG"],
    ]
    as_json = json.loads(headrace_state("list", checkpoint, "--json").stdout)
    assert as_json[1] == {
        "operator": "count", "state": "user/total", "type": "value of LONG", "entries": None,
    }  # fmt: skip


def test_the_states_of_a_savepoint_are_listed_with_their_entries(tmp_path: Path) -> None:
    made = Savepoint.new().with_state("count", "total", [("ann", 1), ("bob", 2)])
    (found,) = states_in(made.write(str(tmp_path / "saved")))
    assert (found.operator, found.state, found.entries) == ("count", "user/total", 2)


def test_read_refuses_a_wrong_name_before_it_starts_spark(
    checkpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("headrace.state._session", lambda: started.append("Spark"))
    with pytest.raises(StateError, match="has no state 'sum'"):
        read(checkpoint, "count", "sum")
    assert started == []


def test_without_the_file_only_spark_can_tell(checkpoint: str) -> None:
    Path(checkpoint, FILE).unlink()
    assert first_rows(checkpoint, "count", "anything", 1) is None
