"""Ticks reach the control directory, also when it could not be written at first."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pyarrow import fs as pafs

from headrace.hosts.spark.microbatch import commands
from headrace.hosts.spark.microbatch.commands import CommandWriter
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def wait_for_ticks(folder: Path, seconds: float = 10.0) -> list[Path]:
    deadline = time.monotonic() + seconds
    while not (found := list(folder.glob("[0-9]*-tick.txt"))) and time.monotonic() < deadline:
        time.sleep(0.01)
    return found


def test_a_tick_that_is_due_is_written(tmp_path: Path) -> None:
    writer = CommandWriter(Storage.open(str(tmp_path / "control")))
    writer.wake_at(0)
    assert [file.read_text() for file in wait_for_ticks(tmp_path / "control")] == ["tick\n"]
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_RETRY_MS", 20)
    folder = tmp_path / "control"
    folder.touch()  # a file in its place: nothing can be written there
    writer = CommandWriter(Storage.open(str(folder)))
    writer.wake_at(0)
    time.sleep(0.1)
    folder.unlink()

    assert len(wait_for_ticks(folder)) == 1
    writer.close()


def test_a_writer_that_is_closed_does_not_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "_RETRY_MS", 20)
    folder = tmp_path / "control"
    folder.touch()
    writer = CommandWriter(Storage.open(str(folder)))
    writer.wake_at(0)
    time.sleep(0.1)
    writer.close()
    folder.unlink()

    assert wait_for_ticks(folder, 0.2) == []
