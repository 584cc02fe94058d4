"""What survives of a continuous job: which epoch counts, and what may be removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import StateError
from headrace.hosts.continuous.epochs import FOLDER, Epoch, Epochs
from headrace.spi.host import EpochResults

if TYPE_CHECKING:
    from pathlib import Path


def segment(folder: Path, name: str) -> Path:
    file = folder / FOLDER / "state" / "1-0" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"")
    return file


def test_an_epoch_counts_when_it_is_written_and_is_done_when_its_sinks_are(tmp_path: Path) -> None:
    epochs = Epochs(str(tmp_path))
    assert epochs.last() is None
    results = EpochResults({"sink": [1, 2]})
    epochs.write(Epoch(0, [{"0": 7}], {(1, 0): ["a"], (2, 1): []}), results)
    assert epochs.last() == 0
    assert epochs.read(0) == Epoch(0, [{"0": 7}], {(1, 0): ["a"], (2, 1): []})
    assert not epochs.is_done(0)
    assert epochs.results(0).committables == {"sink": [1, 2]}
    epochs.finish(0)
    assert epochs.is_done(0)


def test_old_epochs_go_with_the_state_that_only_they_have(tmp_path: Path) -> None:
    epochs = Epochs(str(tmp_path), retained=1)
    files = {name: segment(tmp_path, name) for name in ("a", "b", "c", "joining")}
    for number, names in enumerate([["a"], ["a", "b"], ["b"], ["b", "c"]]):
        epochs.write(Epoch(number, [], {(1, 0): names}), None)
        epochs.clear()
    assert epochs.numbers() == [2, 3]
    assert not files["a"].exists()
    assert files["b"].exists()
    assert files["c"].exists()
    assert files["joining"].exists()  # a task is writing it, and no epoch has it yet


def test_what_a_run_that_failed_has_left_goes_when_the_next_one_begins(tmp_path: Path) -> None:
    epochs = Epochs(str(tmp_path))
    kept, left = segment(tmp_path, "kept"), segment(tmp_path, "left")
    epochs.write(Epoch(0, [], {(1, 0): ["kept"]}), None)
    epochs.forget_unfinished()
    assert kept.exists()
    assert not left.exists()


def test_a_file_that_cannot_be_read_is_told_with_its_name(tmp_path: Path) -> None:
    epochs = Epochs(str(tmp_path))
    epochs.write(Epoch(0, [], {}), None)
    (tmp_path / FOLDER / "epochs" / "0000000000.json").write_text("{")
    with pytest.raises(StateError, match=r"epoch 0 of the checkpoint cannot be read") as told:
        epochs.read(0)
    assert "0000000000.json" in str(told.value.where)
