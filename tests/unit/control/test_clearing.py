"""Which files of a checkpoint are past: counted back from the newest committed batch."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from typing import TYPE_CHECKING

import pytest

from headrace.hosts.spark.state.clearing import Clearing, files_in, past_files

if TYPE_CHECKING:
    from pathlib import Path

# Snapshots of versions 1, 11 and 21; one file stays in all of them, one in two.
LISTED = {
    "1.zip": frozenset({"SSTs/all.sst", "SSTs/first.sst"}),
    "11.zip": frozenset({"SSTs/all.sst", "SSTs/middle.sst", "SSTs/later.sst", "logs/b.log"}),
    "21.zip": frozenset({"SSTs/all.sst", "SSTs/later.sst", "SSTs/last.sst"}),
}
CHANGES = [f"{version}.changelog" for version in range(1, 25)]
FILES = [*LISTED, *CHANGES]


def past(needed: int, names: list[str] = FILES) -> list[str]:
    return past_files(names, needed, LISTED.__getitem__)


def test_before_the_second_snapshot_is_needed_nothing_is_past() -> None:
    assert past(10) == []


def test_from_a_snapshot_on_what_only_older_ones_need_is_past() -> None:
    assert past(11) == [*CHANGES[:10], "SSTs/first.sst", "1.zip"]


def test_several_old_snapshots_go_together() -> None:
    gone = past(23)
    assert gone[:20] == CHANGES[:20]
    assert gone[20:] == ["SSTs/first.sst", "SSTs/middle.sst", "logs/b.log", "1.zip", "11.zip"]


def test_a_snapshot_goes_last_so_that_a_broken_round_can_be_made_up_for() -> None:
    left = [name for name in FILES if name not in past(23)[:20]]  # the SSTs are no names here
    assert past(23, left) == past(23)[20:]


def test_a_version_before_every_snapshot_keeps_them_all() -> None:
    assert past(0) == []
    assert past(-9) == []


@pytest.mark.parametrize("name", ["15_3d1f.zip", "x.zip"])
def test_beside_snapshots_of_another_form_nothing_is_past(name: str) -> None:
    assert past(23, [*FILES, name]) == []


@pytest.mark.parametrize(
    "name", [".24.changelog.3d1f.tmp", ".1.zip.crc", "SSTs", "_schema", "1.delta"]
)
def test_files_of_other_kinds_do_not_count(name: str) -> None:
    assert past(11, [*FILES, name]) == past(11)


def test_without_snapshots_changes_stay() -> None:
    assert past(23, CHANGES) == []


# --- snapshots -----------------------------------------------------------------------------------


def snapshot(*files: str, form: str = "v1") -> bytes:
    listed = {
        "sstFiles": [{"localFileName": "1.sst", "dfsSstFileName": name, "sizeBytes": 1}
                     for name in files],
        "numKeys": 1,
    }  # fmt: skip
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("metadata", f"{form}\n{json.dumps(listed)}")
        archive.writestr("CURRENT", "MANIFEST-000008\n")
    return target.getvalue()


def test_a_snapshot_lists_its_files() -> None:
    assert files_in(snapshot("a.sst", "b.sst")) == {"SSTs/a.sst", "SSTs/b.sst"}


@pytest.mark.parametrize(
    "content", [snapshot("a.sst", form="v2"), b"not an archive"], ids=["form 2", "no archive"]
)
def test_a_snapshot_of_an_unknown_form_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="snapshot"):
        files_in(content)


# --- rounds --------------------------------------------------------------------------------------


class Checkpoint:
    """Of two subtasks, with snapshots of versions 1 and 11 and changes up to a version."""

    def __init__(self, folder: Path, newest: int) -> None:
        self.folder = folder
        for subtask in "01":
            for version in range(1, newest + 1):
                self.write(f"state/0/{subtask}/{version}.changelog")
            self.write(f"state/0/{subtask}/1.zip", snapshot("old.sst", "both.sst"))
            self.write(f"state/0/{subtask}/11.zip", snapshot("both.sst", "new.sst"))
            for name in ("old", "both", "new", "being-written"):
                self.write(f"state/0/{subtask}/SSTs/{name}.sst")

    def write(self, path: str, content: bytes = b"x") -> None:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        (file.parent / f".{file.name}.crc").write_bytes(b"c")

    def commit(self, batch: int) -> None:
        self.write(f"commits/{batch}")

    def files(self) -> set[str]:
        """Of the second subtask, with its checksums."""
        root = self.folder / "state" / "0" / "1"
        return {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}


def with_checksums(*paths: str) -> set[str]:
    split = [path.rpartition("/") for path in paths]
    return {*paths, *(f"{folder}{slash}.{name}.crc" for folder, slash, name in split)}


KEPT = [
    "11.zip", "11.changelog", "12.changelog", "13.changelog",
    "SSTs/both.sst", "SSTs/new.sst", "SSTs/being-written.sst",
]  # fmt: skip


def rounds(clearing: Clearing) -> None:
    for _ in range(3):
        clearing.round()


def test_what_is_past_stays_for_two_rounds(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, newest=13)
    checkpoint.commit(11)  # version 12, so 11 is needed
    clearing = Clearing(str(tmp_path), 1, threading.Lock())
    before = checkpoint.files()
    clearing.round()
    clearing.round()
    assert checkpoint.files() == before
    clearing.round()
    assert checkpoint.files() == with_checksums(*KEPT)


def test_a_batch_whose_state_is_stored_but_which_is_not_committed_does_not_count(
    tmp_path: Path,
) -> None:
    checkpoint = Checkpoint(tmp_path, newest=13)
    checkpoint.commit(10)  # version 11; with one batch beside it, 10 is needed
    clearing = Clearing(str(tmp_path), 1, threading.Lock())
    before = checkpoint.files()
    rounds(clearing)
    assert checkpoint.files() == before


def test_as_many_batches_stay_as_are_retained(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, newest=13)
    checkpoint.commit(12)
    few, many = (Clearing(str(tmp_path), count, threading.Lock()) for count in (2, 3))
    before = checkpoint.files()
    rounds(many)
    assert checkpoint.files() == before
    rounds(few)
    assert checkpoint.files() == with_checksums(*KEPT)


def test_nothing_goes_while_a_batch_is_read(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, newest=13)
    checkpoint.commit(11)
    reading = threading.Lock()
    clearing = Clearing(str(tmp_path), 1, reading)
    clearing.round()
    clearing.round()
    before = checkpoint.files()
    with reading:
        clearing.round()
        assert checkpoint.files() == before
    clearing.round()
    assert checkpoint.files() == with_checksums(*KEPT)


def test_a_snapshot_that_cannot_be_read_keeps_everything(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, newest=13)
    checkpoint.write("state/0/1/11.zip", snapshot("new.sst", form="v2"))
    checkpoint.commit(11)
    clearing = Clearing(str(tmp_path), 1, threading.Lock())
    before = checkpoint.files()
    for _ in range(3):
        with pytest.raises(ValueError, match="v2"):
            clearing.round()
    assert checkpoint.files() == before


def test_before_the_first_batch_there_is_nothing_to_clear(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path, newest=13)
    clearing = Clearing(str(tmp_path), 1, threading.Lock())
    before = checkpoint.files()
    rounds(clearing)
    assert checkpoint.files() == before
