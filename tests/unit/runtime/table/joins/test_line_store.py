"""What joins keep: found again after any number of batches, moved to other subtasks, bounded."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.errors import StateError
from headrace.runtime.pages.store import DictStore
from headrace.runtime.state.layouts import layout_of
from headrace.runtime.table.joins import run_storage, timed_lines
from headrace.runtime.table.joins.hashes import equal_lines, hash_lines
from headrace.runtime.table.joins.line_store import LineStore
from headrace.runtime.table.joins.runs import LineShape
from headrace.runtime.table.joins.timed_lines import TimedLines

SHAPE = LineShape((pa.int64(), pa.string()), (0,))


class Listed(DictStore):
    """A store that tells its names, as those of checkpoints do."""

    def __iter__(self) -> Any:
        return iter(sorted(self.content))


def added(store: LineStore, keys: list[int], text: str = "x", **marks: Any) -> None:
    columns = [pa.array(keys, pa.int64()), pa.array([f"{text}{key}" for key in keys])]
    store.append(columns, hash_lines(columns[:1], len(keys)), **marks)


def found(store: LineStore, keys: list[int]) -> list[tuple[int, str]]:
    column = pa.array(keys, pa.int64())
    pairs = []
    for _, _, matches in store.probe([column], hash_lines([column], len(keys))):
        if len(matches):
            texts = matches.column(1).to_pylist()
            pairs += list(zip(matches.line.tolist(), texts, strict=True))
    return pairs


# --- hashes --------------------------------------------------------------------------------------

VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False, None]),
    (pa.int8(), [1, -1, None, 0]),
    (pa.int64(), [1 << 62, -(1 << 62), 0, None]),
    (pa.float32(), [1.5, 0.0, -0.0, None, float("inf")]),
    (pa.float64(), [1.5, 0.0, -0.0, None, float("nan")]),
    (pa.decimal128(20, 2), [Decimal("1.10"), Decimal("-1.10"), None, Decimal(0)]),
    (pa.string(), ["", "a", "b", "ab", "ba", "\0", "\0\0", None, "ä" * 100]),
    (pa.binary(), [b"", b"a", None, b"\0"]),
    (pa.date32(), [dt.date(2020, 1, 1), None]),
    (pa.timestamp("us"), [dt.datetime(2020, 1, 1), None, dt.datetime(1969, 1, 1)]),
    (pa.timestamp("ns"), [dt.datetime(2020, 1, 1), None]),
    (pa.list_(pa.int32()), [[1], [], None, [1, 2]]),
    (pa.struct([("a", pa.int32())]), [{"a": 1}, {"a": None}, None]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda v: str(v))
def test_values_have_one_hash_if_and_only_if_they_are_equal_as_keys(
    kind: pa.DataType, values: list[Any]
) -> None:
    column = pa.array(values, kind)
    padded = pa.concat_arrays([column.slice(1), column])  # an offset must not matter
    again = padded.slice(len(values) - 1)
    assert (hash_lines([column], len(values)) == hash_lines([again], len(values))).all()
    count = len(values)
    one, other = (pa.array(np.repeat(np.arange(count), count)),
                  pa.array(np.tile(np.arange(count), count)))  # fmt: skip
    equal = equal_lines([column.take(one)], [again.take(other)]).reshape(count, count)
    assert (equal == np.eye(count, dtype=np.bool_)).all()
    hashes = hash_lines([column], count)
    assert len(set(hashes.tolist())) == count


def test_all_nans_are_one_key() -> None:
    quiet, other = np.array([0x7FF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)
    column = pa.array([quiet, other])
    assert len(set(hash_lines([column], 2).tolist())) == 1
    assert equal_lines([column], [column.take(pa.array([1, 0]))]).all()


def test_the_hash_of_stored_lines_never_changes() -> None:
    columns = [pa.array([1, None]), pa.array(["a", "b"])]
    assert hash_lines(columns[:1], 2).tolist() == [6238072747940578789, 2685821657736338717]
    assert hash_lines(columns, 2).tolist() == [8283256594477659251, 13122145889724779545]


# --- lines ---------------------------------------------------------------------------------------


def test_a_key_with_many_lines_is_not_written_again_for_each_new_one() -> None:
    content = DictStore()
    store = LineStore(content, "s", SHAPE)
    added(store, [7] * 100_000)
    store.flush()
    written = 0
    put = content.put

    def counted(key: bytes, value: bytes) -> None:
        nonlocal written
        written += len(value)
        put(key, value)

    content.put = counted  # type: ignore[method-assign, assignment]
    for _ in range(20):
        added(store, [7])
        store.flush()
    assert written < 100_000
    assert len(store) == 100_020
    store = LineStore(DictStore(content.snapshot()), "s", SHAPE)
    assert len(found(store, [7])) == 100_020


def test_a_key_with_most_lines_gets_a_range_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_storage, "RECENT_WEIGHT", 50)
    monkeypatch.setattr(run_storage, "RANGE_LINES", 100)
    content = DictStore()
    store = LineStore(content, "s", SHAPE)
    for number in range(30):
        added(store, [7] * 40 + [number])
        store.flush()
    assert len(found(store, [7])) == 1201
    assert [len(found(store, [key])) for key in (0, 29, 30)] == [1, 1, 0]


def test_ranges_leave_memory_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_storage, "RECENT_WEIGHT", 50)
    monkeypatch.setattr(run_storage, "RANGE_LINES", 100)
    monkeypatch.setattr(run_storage, "LOADED_BYTES", 3000)
    store = LineStore(DictStore(), "s", SHAPE)
    for first in range(0, 2000, 100):
        added(store, list(range(first, first + 100)))
        store.flush()
    storage = store._storage
    assert storage is not None
    assert storage.nbytes < 20_000
    assert len(found(store, list(range(2000)))) == 2000


def test_a_missing_run_is_told() -> None:
    content = DictStore()
    store = LineStore(content, "s", SHAPE)
    added(store, [1])
    store.flush()
    left = {key: value for key, value in content.snapshot().items() if key[2:3] != b"r"}
    with pytest.raises(StateError, match="run 1"):
        found(LineStore(DictStore(left), "s", SHAPE), [1])


def moved(spec: Any, content: DictStore) -> tuple[list[Any], DictStore]:
    """What a savepoint holds of a state, and a store that took it back."""
    layout = layout_of(spec)
    entries: list[Any] = list(layout.entries(Listed(content.snapshot()), "s"))
    taken = DictStore()
    target = layout.target(taken, "s")
    for entry in entries:
        target.put(*entry)
    target.flush()
    return entries, taken


def test_lines_leave_in_savepoints_and_come_back() -> None:
    types = (pa.int64(), pa.timestamp("ns"), pa.float64(), pa.map_(pa.string(), pa.int32()))
    shape = LineShape(types, (0,), counts=True, ordered=True, expires=True)
    content = DictStore()
    store = LineStore(content, "s", shape, ttl_ms=1000, clock=lambda: 77)
    columns = [
        pa.array([1, 2, 3]), pa.array([1, None, 2], pa.timestamp("ns")),
        pa.array([1.0, float("nan"), -0.0]), pa.array([[("a", 1)], None, []], types[3]),
    ]  # fmt: skip
    numbers = np.arange(3)
    store.append(
        columns, hash_lines(columns[:1], 3), partners=numbers.astype(np.int32), order=numbers * 10
    )
    store.kill(store.find([c.slice(1, 1) for c in columns], hash_lines([columns[0]], 3)[1:2]))
    store.flush()
    entries, taken = moved(LineStore.spec("s"), content)
    assert sorted((key, value[1:]) for key, _, value in entries) == [
        (1, (0, 77, 0)), (3, (2, 77, 20)),
    ]  # fmt: skip
    assert moved(LineStore.spec("s"), taken)[0] == entries  # also before anybody opened it
    again = LineStore(taken, "s", shape, ttl_ms=1000, clock=lambda: 100)
    again.flush()
    (run,) = again.all_runs()
    again.flush()
    assert run.partners is not None
    assert sorted(run.partners.tolist()) == [0, 2]
    assert len(LineStore(taken, "s", shape, ttl_ms=1000, clock=lambda: 100)) == 2
    assert sorted(map(str, run.columns[2].to_pylist())) == ["-0.0", "1.0"]


def test_lines_that_wait_leave_in_savepoints_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed_lines, "BUCKET_MS", 10)
    content = DictStore()
    types = [pa.string(), pa.int64()]
    lines = TimedLines(content, "s", types, (0,))
    lines.add(np.array([5, 25, 6]), [pa.array(["a", "b", None]), pa.array([1, 2, 3])])
    lines.flush()
    entries, taken = moved(TimedLines.spec("s"), content)
    assert sorted((str(key), value) for key, _, value in entries) == [
        ("None", ((None, 3), 6)), ("a", (("a", 1), 5)), ("b", (("b", 2), 25)),
    ]  # fmt: skip
    again = TimedLines(taken, "s", types, (0,))
    due = again.take_until(24)
    assert due is not None
    assert due[1][1].to_pylist() == [1, 3]
    assert again.first_time() == 25
    again.flush()
    assert len(TimedLines(taken, "s", types, (0,))) == 1


def test_waiting_lines_are_taken_up_to_a_time_within_a_bucket() -> None:
    content = DictStore()
    lines = TimedLines(content, "s", [pa.int64()], ())
    for number in range(10):
        lines.add(np.array([number * 1000]), [pa.array([number])])
        lines.flush()
    assert lines.not_before() == 0
    due = lines.take_until(3500)
    assert due is not None
    assert due[0].tolist() == [0, 1000, 2000, 3000]
    lines.flush()
    again = TimedLines(DictStore(content.snapshot()), "s", [pa.int64()], ())
    rest = again.take_until(1 << 60)
    assert rest is not None
    assert rest[1][0].to_pylist() == [4, 5, 6, 7, 8, 9]
    assert again.take_until(1 << 62) is None
