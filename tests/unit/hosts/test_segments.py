"""State as segments: what was sealed is there after a restart, whatever came in between."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import StateError
from headrace.hosts.continuous import segments as module
from headrace.hosts.continuous.segments import Segments, SegmentStore

if TYPE_CHECKING:
    from pathlib import Path


def opened(folder: Path, names: list[str] | None = None) -> SegmentStore:
    return SegmentStore(Segments(str(folder / "checkpoint"), str(folder / "cache")), names or [])


def end(store: SegmentStore) -> list[str]:
    return store.secure(store.end_epoch())


def test_what_an_epoch_has_sealed_is_there_after_a_restart(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.begin_epoch(0, "a")
    store.put(b"x", b"one")
    store.put(b"y", b"two")
    first = end(store)
    store.begin_epoch(1, "a")
    store.put(b"x", b"three")
    store.delete(b"y")
    second = end(store)
    store.close()
    old, new = opened(tmp_path, first), opened(tmp_path, second)
    assert [old.get(b"x"), old.get(b"y"), list(old)] == [b"one", b"two", [b"x", b"y"]]
    assert [new.get(b"x"), new.get(b"y"), list(new)] == [b"three", None, [b"x"]]


def test_what_was_not_sealed_is_gone(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.begin_epoch(0, "a")
    store.put(b"x", b"one")
    names = end(store)
    store.begin_epoch(1, "a")
    store.put(b"x", b"two")
    store.close()
    assert opened(tmp_path, names).get(b"x") == b"one"


def test_an_epoch_without_changes_adds_no_segment(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.begin_epoch(0, "a")
    store.put(b"x", b"one")
    first = end(store)
    store.begin_epoch(1, "a")
    assert end(store) == first


def test_a_page_that_changed_on_disk_is_told(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.begin_epoch(0, "a")
    store.put(b"x", b"one" * 100)
    [name] = end(store)
    store.close()
    file = tmp_path / "checkpoint" / name
    content = bytearray(file.read_bytes())
    content[5] ^= 1
    file.write_bytes(content)
    with pytest.raises(StateError, match="is not as written"):
        opened(tmp_path, [name]).get(b"x")
    file.write_bytes(content[:-3])
    with pytest.raises(StateError, match="cannot be read"):
        opened(tmp_path, [name])


def test_a_remote_checkpoint_is_read_here_first_and_there_if_it_must(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "local_path", lambda target: None)  # as for s3://
    store = opened(tmp_path)
    store.begin_epoch(0, "a")
    store.put(b"x", b"one")
    names = end(store)
    store.close()
    there, here = tmp_path / "checkpoint" / names[0], tmp_path / "cache" / names[0]
    assert there.read_bytes() == here.read_bytes()
    there.rename(there.with_suffix(".away"))
    assert opened(tmp_path, names).get(b"x") == b"one"  # local recovery
    there.with_suffix(".away").rename(there)
    here.unlink()
    assert opened(tmp_path, names).get(b"x") == b"one"  # another machine


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), buffer=st.sampled_from([50, 2_000, 8 << 20]))
def test_a_store_is_a_dict_over_epochs_restarts_and_joins(
    seed: int, buffer: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    dice = random.Random(seed)
    folder = tmp_path_factory.mktemp("segments")
    before, module._BUFFER_BYTES = module._BUFFER_BYTES, buffer
    try:
        store, model = opened(folder), {}
        names: list[str] = []
        committed: dict[bytes, bytes] = {}
        for epoch in range(40):
            store.begin_epoch(epoch, f"{seed}-{epoch}")
            for _ in range(dice.randrange(30)):
                key = b"k%d" % dice.randrange(40)
                if dice.random() < 0.7:
                    model[key] = dice.randbytes(dice.randrange(200))
                    store.put(key, model[key])
                else:
                    store.delete(key)
                    model.pop(key, None)
                assert store.get(key) == model.get(key)
            if dice.random() < 0.85:
                names, committed = end(store), dict(model)
            elif dice.random() < 0.5:  # the epoch fails
                store.close()
                store, model = opened(folder, names), dict(committed)
            assert {key: store.get(key) for key in store} == model
        for epoch in range(40, 46):  # a thread joins segments while epochs go on
            if store._joining is not None:
                store._joining.thread.join()
            store.begin_epoch(epoch, f"{seed}-{epoch}")
            names, committed = end(store), dict(model)
        assert len(names) <= module._MOST_SEGMENTS, "segments are joined"
        store.close()
        again = opened(folder, names)
        assert {key: again.get(key) for key in again} == committed
    finally:
        module._BUFFER_BYTES = before


def test_segments_that_cannot_be_joined_stay_and_no_epoch_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(tmp_path)
    secure = Segments.secure
    full = True

    def joined(segments: Segments, name: str) -> None:
        if full and threading.current_thread().name == "headrace-join":
            raise OSError("no space left on device")
        secure(segments, name)

    monkeypatch.setattr(Segments, "secure", joined)

    def run(epochs: range) -> list[str]:
        names: list[str] = []
        for epoch in epochs:
            store.begin_epoch(epoch, "a")
            store.put(b"k%d" % epoch, b"v%d" % epoch)
            names = end(store)
            if store._joining is not None:
                store._joining.thread.join()
        return names

    names = run(range(20))
    assert len(names) == 20
    assert [text for text in caplog.messages if "no space left" in text] == caplog.messages
    assert len(caplog.messages) == 1
    full = False
    names = run(range(20, 24))
    assert len(names) <= module._MOST_SEGMENTS
    store.close()
    again = opened(tmp_path, names)
    assert {key: again.get(key) for key in again} == {b"k%d" % n: b"v%d" % n for n in range(24)}
