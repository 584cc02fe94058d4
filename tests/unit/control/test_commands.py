"""Ticks reach the control directory, also when it could not be written at first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs as pafs

from headrace.hosts.spark.microbatch import commands
from headrace.hosts.spark.microbatch.commands import CommandWriter
from headrace.io.storage import Storage
from patience import wait_until

if TYPE_CHECKING:
    from pathlib import Path


def ticks(folder: Path) -> list[Path]:
    return list(folder.glob("[0-9]*-tick.txt"))


@pytest.fixture
def failures(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was logged about ticks that could not be written."""
    told: list[str] = []
    monkeypatch.setattr(commands.log, "warning", lambda text, *words: told.append(text % words))
    return told


def test_a_tick_that_is_due_is_written(tmp_path: Path) -> None:
    writer = CommandWriter(Storage.open(str(tmp_path / "control")))
    writer.wake_at(0)
    assert [file.read_text() for file in wait_until(lambda: ticks(tmp_path / "control"))] == [
        "tick\n"
    ]
    writer.close()


def test_commands_reach_a_store_that_is_not_on_this_machine() -> None:
    elsewhere = pafs._MockFileSystem()
    writer = CommandWriter(Storage(elsewhere, "bucket/job/control"))
    for _ in range(commands._KEPT_FILES + 5):
        writer.send("tick")
    writer.send("end")

    stored = Storage(elsewhere, "bucket/job/control")
    names = [file.name for file in stored.list("")]
    assert len(names) == commands._KEPT_FILES
    assert stored.read(names[-1]) == b"end\n"
    assert not any(name.startswith(".") for name in names)


def test_a_tick_that_finds_the_disk_full_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: list[str]
) -> None:
    monkeypatch.setattr(commands, "_RETRY_MS", 20)
    folder = tmp_path / "control"
    folder.touch()  # a file in its place: nothing can be written there
    writer = CommandWriter(Storage.open(str(folder)))
    writer.wake_at(0)
    wait_until(lambda: failures)
    folder.unlink()

    assert len(wait_until(lambda: ticks(folder))) == 1
    writer.close()


def test_a_writer_that_is_closed_does_not_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: list[str]
) -> None:
    monkeypatch.setattr(commands, "_RETRY_MS", 20)
    folder = tmp_path / "control"
    folder.touch()
    writer = CommandWriter(Storage.open(str(folder)))
    writer.wake_at(0)
    wait_until(lambda: failures)
    writer.close()
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer) and thread.function == writer._tick:
            thread.join()  # one that was called off ends at once
    folder.unlink(missing_ok=True)

    assert writer._alarm is None
    assert ticks(folder) == []
