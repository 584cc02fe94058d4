"""Records between subtasks: frames, packets, their order, and who gets which record."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.data.codec import codec_for
from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP, Records
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import InternalError, InvalidArgumentError, KeyTypeError
from headrace.runtime.exchange import outbox as outbox_module
from headrace.runtime.exchange.buffers import (
    MESSAGE,
    TO_DRIVER,
    WATERMARK,
    content_of,
    data_frame,
    frames_of,
    message_frame,
    records_in,
)
from headrace.runtime.exchange.outbox import Outbox
from headrace.runtime.exchange.partition import (
    Broadcast,
    Custom,
    Forward,
    Global,
    KeyGroups,
    Partitioning,
    Rebalance,
    Rescale,
    Shuffle,
)
from headrace.runtime.key_groups import key_group_of, subtask_of
from headrace.runtime.key_selectors import Keying
from headrace.runtime.task import in_order
from headrace.testing import LocalRunner

PAIRS = Types.TUPLE([Types.LONG(), Types.STRING()])
_pair = st.tuples(st.integers(-(2**63), 2**63 - 1), st.text(max_size=4))
_times = st.integers(MIN_TIMESTAMP, MAX_TIMESTAMP)


# --- frames ------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.tuples(_pair, _times), max_size=6), max_size=5), st.data())
def test_frames_of_all_kinds_come_back_in_order(
    batches: list[list[tuple[Any, int]]], data: st.DataObject
) -> None:
    arrow, pickled = codec_for(PAIRS), codec_for(Types.PICKLED_BYTE_ARRAY())
    pieces: list[bytes] = []
    sent: list[Any] = []
    for edge, batch in enumerate(batches):
        values = [value for value, _ in batch]
        times = [time for _, time in batch] if data.draw(st.booleans()) else None
        codec = arrow if data.draw(st.booleans()) else pickled
        pieces += data_frame(Records(list(values), times), edge, codec)
        sent.append((edge, codec, values, times))
        pieces += message_frame(WATERMARK, edge, ("c", edge))
        sent.append((edge, None, ("c", edge), None))
    received: list[Any] = []
    for frame, (_, codec, _, _) in zip(frames_of(b"".join(pieces)), sent, strict=True):
        if codec is None:
            received.append((frame.edge, None, content_of(frame), None))
        else:
            records = records_in(frame, codec)
            received.append((frame.edge, codec, records.values, records.timestamps))
    assert received == sent


def test_a_frame_can_be_passed_on_as_it_lies_in_the_packet() -> None:
    codec = codec_for(PAIRS)
    first = b"".join(data_frame(Records([(1, "a")], [5]), 3, codec))
    second = b"".join(message_frame(MESSAGE, TO_DRIVER, "hello"))
    raws = [bytes(frame.raw) for frame in frames_of(first + second)]
    assert raws == [first, second]


def test_an_empty_packet_has_no_frames() -> None:
    assert list(frames_of(b"")) == []


def test_records_encoded_for_one_consumer_can_be_cut_for_another() -> None:
    codec = codec_for(PAIRS)
    records = Records([(1, "a"), (2, "b"), (3, "c")], [1, 2, 3])
    records.encoded(codec)
    assert records.slice(1, 1).values == [(2, "b")]
    router = Rebalance()
    router.open(0, 2, 128)
    parts = {target: part.values for target, part in router.route(records)}
    assert parts == {0: [(1, "a"), (3, "c")], 1: [(2, "b")]}


def test_new_timestamps_are_not_seen_by_other_consumers() -> None:
    records = Records(["a"], [1])
    assert records.with_timestamps([2]).timestamps == [2]
    assert records.timestamps == [1]


# --- packets -----------------------------------------------------------------------------------


def test_frames_for_a_slot_keep_their_order_across_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "PACKET_BYTES", 10)
    box = Outbox(2)
    taken = []
    for number in range(9):
        box.add(number % 2, [b"%d" % number, b"." * 4])
        taken.extend(box.take_full())
    taken.extend(box.take_all())
    for slot in (0, 1):
        mine = [packet for packet in taken if packet.slot == slot]
        assert [packet.seq for packet in mine] == list(range(len(mine)))
        text = b"".join(packet.content for packet in mine).replace(b".", b"")
        assert text == b"".join(b"%d" % n for n in range(9) if n % 2 == slot)
    assert list(box.take_all()) == []


def test_a_packet_is_handed_on_once_it_is_full_and_not_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(outbox_module, "PACKET_BYTES", 10)
    box = Outbox(1)
    box.add(0, [b"123456789"])
    assert list(box.take_full()) == []
    box.add(0, [b"0"])
    assert [packet.content for packet in box.take_full()] == [b"1234567890"]
    box.add(0, [b"x" * 1000])  # a frame is never torn apart
    assert [len(packet.content) for packet in box.take_full()] == [1000]


@given(st.lists(st.integers(0, 6), min_size=1, max_size=4), st.randoms())
def test_packets_in_any_order_are_read_in_order_of_each_channel(
    counts: list[int], rnd: Any
) -> None:
    packets = [
        (channel, seq, b"%d/%d" % (channel, seq))
        for channel, count in enumerate(counts)
        for seq in range(count)
    ]
    rnd.shuffle(packets)
    read = list(in_order(packets))
    assert sorted(read) == sorted(content for _, _, content in packets)
    for channel, count in enumerate(counts):
        mine = [content for content in read if content.startswith(b"%d/" % channel)]
        assert mine == [b"%d/%d" % (channel, seq) for seq in range(count)]


def test_a_missing_packet_is_noticed() -> None:
    packets = [(0, 0, b"a"), (0, 2, b"c"), (1, 0, b"x")]
    reader = in_order(packets)
    assert list(itertools.islice(reader, 2)) == [b"a", b"x"]
    with pytest.raises(InternalError, match=r"missing before \[\(0, 2\)\]"):
        next(reader)


# --- partitioners ------------------------------------------------------------------------------


def _routed(router: Partitioning, records: Records, parallelism: int) -> dict[int, list[Any]]:
    targets: dict[int, list[Any]] = {}
    for target, part in router.route(records):
        assert 0 <= target < parallelism
        assert len(part) > 0
        targets.setdefault(target, []).extend(part.pairs())
    return targets


def _routers() -> dict[str, Partitioning]:
    return {
        "forward": Forward(),
        "global": Global(),
        "rebalance": Rebalance(),
        "rescale": Rescale(),
        "shuffle": Shuffle(),
        "custom": Custom(lambda key, n: key % n, lambda record: record[0]),
        "hash": KeyGroups(Keying(lambda record: record[0])),
        "hash-called": KeyGroups(Keying(lambda record: (record[0],))),
    }


@pytest.mark.parametrize("name", list(_routers()))
@given(
    values=st.lists(_pair, min_size=1, max_size=30),
    parallelism=st.integers(1, 5),
    subtask=st.integers(0, 4),
    timed=st.booleans(),
    encoded=st.booleans(),
)
def test_nothing_is_lost_doubled_or_reordered_within_a_target(
    name: str,
    values: list[tuple[int, str]],
    parallelism: int,
    subtask: int,
    timed: bool,
    encoded: bool,
) -> None:
    router = _routers()[name]
    router.open(subtask, parallelism, 128)
    times = list(range(len(values))) if timed else None
    codec = codec_for(PAIRS)
    if encoded:
        records = Records(timestamps=times, batch=codec.encode(values), codec=codec)
    else:
        records = Records(values, times)
    routed = _routed(router, records, parallelism)
    pairs = list(zip(values, times or itertools.repeat(None, len(values)), strict=True))
    assert Counter(itertools.chain(*routed.values())) == Counter(pairs)
    if timed:
        for part in routed.values():
            assert [time for _, time in part] == sorted(time for _, time in part)


@given(
    st.lists(st.tuples(st.integers(-100, 100), st.text(max_size=2)), min_size=1, max_size=30),
    st.integers(1, 8),
)
def test_a_key_goes_to_the_owner_of_its_group_in_every_form(
    values: list[tuple[int, str]], parallelism: int
) -> None:
    codec = codec_for(PAIRS)
    wanted = {value: subtask_of(key_group_of(value[0], 128), parallelism, 128) for value in values}
    for records in (Records(list(values)), Records(batch=codec.encode(values), codec=codec)):
        router = KeyGroups(Keying(lambda record: record[0]))
        router.open(0, parallelism, 128)
        for target, part in router.route(records):
            assert all(wanted[value] == target for value in part.values)


@given(st.lists(st.text(max_size=3), min_size=1, max_size=30), st.integers(1, 8))
def test_a_record_that_is_its_own_key_goes_there_in_every_form(
    values: list[str], parallelism: int
) -> None:
    codec = codec_for(Types.STRING())
    wanted = {value: subtask_of(key_group_of(value, 128), parallelism, 128) for value in values}
    for records in (Records(list(values)), Records(batch=codec.encode(values), codec=codec)):
        router = KeyGroups(Keying(lambda record: record))
        router.open(0, parallelism, 128)
        for target, part in router.route(records):
            assert all(wanted[value] == target for value in part.values)


def test_keys_that_are_rows_decimals_or_pickled_reach_the_same_subtask_in_every_form() -> None:
    inner = Types.ROW([Types.INT(), Types.STRING()])
    for field_type, keys in (
        (inner, [Row(n, "x") for n in range(20)]),
        (Types.PICKLED_BYTE_ARRAY(), [(n, "x") for n in range(20)]),
        (Types.BIG_INT(), list(range(20))),
    ):
        codec = codec_for(Types.TUPLE([field_type, Types.INT()]))
        values = [(key, 1) for key in keys]
        found = []
        for records in (Records(values), Records(batch=codec.encode(values), codec=codec)):
            router = KeyGroups(Keying(lambda record: record[0]))
            router.open(0, 4, 128)
            found.append({t: [str(v) for v in p.values] for t, p in router.route(records)})
        assert {t: len(v) for t, v in found[0].items()} == {t: len(v) for t, v in found[1].items()}
        assert set(found[0]) == {0, 1, 2, 3}


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("key", [{1}, float("nan")])
def test_a_bad_key_is_refused_at_every_parallelism(parallelism: int, key: Any) -> None:
    router = KeyGroups(Keying(lambda record: record[0]))
    router.open(0, parallelism, 128)
    with pytest.raises(KeyTypeError):
        list(router.route(Records([(key, 1)])))


@pytest.mark.parametrize("parallelism", [1, 3])
def test_nan_in_a_column_of_keys_is_refused(parallelism: int) -> None:
    codec = codec_for(Types.TUPLE([Types.DOUBLE(), Types.INT()]))
    records = Records(batch=codec.encode([(float("nan"), 1)]), codec=codec)
    router = KeyGroups(Keying(lambda record: record[0]))
    router.open(0, parallelism, 128)
    with pytest.raises(KeyTypeError, match="does not equal itself"):
        list(router.route(records))


def test_forward_stays_in_the_subtask() -> None:
    router = Forward()
    router.open(2, 4, 128)
    assert [target for target, _ in router.route(Records([1, 2]))] == [2]


def test_global_sends_everything_to_the_first_subtask() -> None:
    router = Global()
    router.open(2, 4, 128)
    assert [target for target, _ in router.route(Records([1, 2]))] == [0]


def test_broadcast_sends_everything_to_every_subtask() -> None:
    router = Broadcast()
    router.open(0, 3, 128)
    assert _routed(router, Records([1, 2], [5, 6]), 3) == {
        target: [(1, 5), (2, 6)] for target in range(3)
    }


def test_rebalance_goes_on_where_the_last_list_ended() -> None:
    router = Rebalance()
    router.open(1, 3, 128)
    dealt: list[int] = []
    for size in (1, 2, 4, 5):
        order = {}
        for target, part in router.route(Records(list(range(size)))):
            order.update(dict.fromkeys(part.values, target))
        dealt += [order[n] for n in range(size)]
    assert dealt == [(1 + n) % 3 for n in range(12)]


def test_rescale_starts_at_the_first_subtask() -> None:
    router = Rescale()
    router.open(1, 3, 128)
    assert [target for target, _ in router.route(Records([1, 2]))] == [0, 1]


def test_a_retried_shuffle_repeats_itself() -> None:
    def run() -> list[Any]:
        router = Shuffle()
        router.open(1, 4, 128)
        return [(target, part.values) for target, part in router.route(Records(list(range(50))))]

    assert run() == run()
    assert len(run()) == 4


@pytest.mark.parametrize("target", [-1, 3])
def test_a_custom_partitioner_must_name_a_subtask_that_exists(target: int) -> None:
    router = Custom(lambda key, n: target, lambda record: record)
    router.open(0, 3, 128)
    with pytest.raises(InvalidArgumentError, match=f"returned {target} for 'x'"):
        router.route(Records(["x"]))


def test_a_later_stage_passes_messages_to_the_driver_unread() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.from_collection([]).key_by(lambda number: number).map(lambda number: number)
    with LocalRunner(keyed, parallelism=1) as job:
        job.run_batch([1])
        header, body, padding = message_frame(MESSAGE, TO_DRIVER, "x" * 13)
        unreadable = header + b"\xff" * len(body) + padding  # no pickle
        sent = job.tasks[1, 0].run_packets([(0, 0, unreadable)], 1, "attempt")
        frames = [bytes(frame.raw) for packet in sent for frame in frames_of(packet.content)]
    assert unreadable in frames
