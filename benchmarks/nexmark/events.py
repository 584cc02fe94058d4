"""Nexmark's events: people, auctions and bids of an auction house, as columns.

In: how many, and how they are laid out in files.  Out: Parquet files, the same bytes for every
system and every run.  Next: queries.py (what is asked of them), ../systems/nexmark_*.py

Events come in the order of their numbers, 50 at a time: one person, three auctions, 46 bids.  Ids,
chances and sizes are those of the public benchmark: half of the bids go to a hot auction, three of
four come from a hot bidder, three of four auctions are by a hot seller.  Event time advances by a
second in 10,000 events, unless a `Pace` says otherwise.  Blocks of 10,000 events have a seed each,
so that the events are the same however they are cut into files.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

Layout = Literal["flat", "nested"]
Numbers = Any  # an array of numpy's

SEED = 7
BLOCK = 10_000
BLOCKS_A_ROW_GROUP = 10
FIRST_MS = 1_700_000_000_000

PERSON, AUCTION, BID = 0, 1, 2
PEOPLE, AUCTIONS, ROUND = 1, 3, 50  # of each round of 50; the other 46 are bids
FIRST_ID, FIRST_CATEGORY, CATEGORIES = 1_000, 10, 5
HOT_ONE_OF = 100  # of people and auctions, the first of so many is the hot one
IN_FLIGHT, ACTIVE_PEOPLE, LEAD = 100, 1_000, 10
CHANNELS = 10_000
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle",
    "Kent", "Cheyenne",
)  # fmt: skip
FIRST_NAMES = (
    "Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter",
)  # fmt: skip
LAST_NAMES = (
    "Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris",
)  # fmt: skip

MILLIS = pa.timestamp("ms")
PERSON_FIELDS = [
    ("id", pa.int64()), ("name", pa.string()), ("emailAddress", pa.string()),
    ("creditCard", pa.string()), ("city", pa.string()), ("state", pa.string()),
    ("dateTime", MILLIS), ("extra", pa.string()),
]  # fmt: skip
AUCTION_FIELDS = [
    ("id", pa.int64()), ("itemName", pa.string()), ("description", pa.string()),
    ("initialBid", pa.int64()), ("reserve", pa.int64()), ("dateTime", MILLIS),
    ("expires", MILLIS), ("seller", pa.int64()), ("category", pa.int64()), ("extra", pa.string()),
]  # fmt: skip
BID_FIELDS = [
    ("auction", pa.int64()), ("bidder", pa.int64()), ("price", pa.int64()),
    ("channel", pa.string()), ("url", pa.string()), ("dateTime", MILLIS), ("extra", pa.string()),
]  # fmt: skip
KINDS = (("person", PERSON_FIELDS), ("auction", AUCTION_FIELDS), ("bid", BID_FIELDS))


@dataclass(frozen=True)
class Pace:
    """How event time goes on.

    Attributes:
        events_per_s: so many events make a second.
        disorder_ms: an event's time may be so much before that of its neighbours.
    """

    events_per_s: int = 10_000
    disorder_ms: int = 0


EVEN = Pace()


class Texts:
    """Texts cut out of one long random one: the places are random, the bytes are copied."""

    def __init__(self, alphabet: str) -> None:
        letters = np.frombuffer(alphabet.encode(), np.uint8)
        self._pool = letters[np.random.default_rng(SEED).integers(0, len(letters), 1 << 20)]

    def cut(self, random: np.random.Generator, sizes: NDArray[np.int64]) -> pa.Array:
        """One text of each size."""
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        starts = random.integers(0, len(self._pool) - int(sizes.max(initial=1)), len(sizes))
        places = np.repeat(starts - ends[:-1], sizes) + np.arange(ends[-1])
        content = self._pool[places]
        buffers = [None, pa.py_buffer(ends), pa.py_buffer(content)]
        return pa.StringArray.from_buffers(len(sizes), buffers[1], buffers[2])


LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = Texts(LETTERS * 12 + " " * 26)  # one of thirteen is a space
EXTRA = Texts(LETTERS)


@dataclass(frozen=True)
class Channels:
    """Where bids come from: the hot ones first, then 10,000 others, most with an id in the url."""

    names: pa.Array
    urls: pa.Array

    @staticmethod
    def made() -> Channels:
        random = np.random.default_rng([SEED, 1])
        count = len(HOT_CHANNELS) + CHANNELS
        folders = [
            "".join(LETTERS[i] for i in random.integers(0, 26, random.integers(3, 6)))
            for _ in range(3 * count)
        ]
        urls = [
            f"https://www.nexmark.com/{'/'.join(folders[i : i + 3])}/item.htm?query=1"
            for i in range(0, 3 * count, 3)
        ]
        with_id = random.random(count) < 0.9
        for number in range(len(HOT_CHANNELS), count):
            if with_id[number]:
                urls[number] += f"&channel_id={random.integers(0, 1 << 31)}"
        names = [*HOT_CHANNELS, *(f"channel-{number}" for number in range(CHANNELS))]
        return Channels(pa.array(names), pa.array(urls))


def block(number: int, pace: Pace = EVEN) -> pa.Table:
    """10,000 events, in the nested layout."""
    random = np.random.default_rng([SEED, 2, number])
    events = number * BLOCK + np.arange(BLOCK)
    places = events % ROUND
    millis = FIRST_MS + events * 1_000 // pace.events_per_s
    if pace.disorder_ms:
        millis -= np.random.default_rng([SEED, 3, number]).integers(0, pace.disorder_ms + 1, BLOCK)
    kinds = np.where(places < PEOPLE, PERSON, np.where(places < PEOPLE + AUCTIONS, AUCTION, BID))
    # on average an auction goes on until as many as are in flight have begun
    horizon_ms = IN_FLIGHT * ROUND // AUCTIONS * 1_000 // pace.events_per_s
    makers = (_people, partial(_auctions, horizon_ms=horizon_ms), _bids)
    columns = []
    for kind, (_, fields) in enumerate(KINDS):
        chosen = kinds == kind
        lines = makers[kind](random, events[chosen], millis[chosen])
        columns.append(_spread(pa.StructArray.from_arrays(lines, [n for n, _ in fields]), chosen))
    return pa.table(
        [pa.array(kinds.astype(np.int32)), *columns, pa.array(millis).cast(MILLIS)],
        ["event_type", *(name for name, _ in KINDS), "dateTime"],
    )


def _spread(lines: pa.Array, chosen: NDArray[np.bool_]) -> pa.Array:
    """The lines at the chosen places, NULL at all others."""
    places = np.cumsum(chosen) - 1
    return lines.take(pa.array(places, mask=~chosen))


def _last_person(events: Numbers) -> Numbers:
    """The number of the newest person; every round begins with one."""
    return events // ROUND


def _last_auction(events: Numbers) -> Numbers:
    """The number of the newest auction, -1 before the first."""
    seen = np.clip(events % ROUND - PEOPLE, -1, AUCTIONS - 1)
    return events // ROUND * AUCTIONS + seen


def _some_person(random: np.random.Generator, events: Numbers) -> Numbers:
    """One of the newest people, or one of the next few."""
    people = _last_person(events) + 1
    active = np.minimum(people, ACTIVE_PEOPLE)
    return people - active + random.integers(0, active + LEAD)


def _some_auction(random: np.random.Generator, events: Numbers) -> Numbers:
    """One of the newest auctions, or one of the next few."""
    last = _last_auction(events)
    oldest = np.maximum(last - IN_FLIGHT, 0)
    return oldest + random.integers(0, last - oldest + 1 + LEAD)


def _chosen(
    random: np.random.Generator, one_of: int, hot: Numbers, cold: Numbers
) -> NDArray[np.int64]:
    """The hot one, but for one of so many cases."""
    chosen: Numbers = np.where(random.integers(0, one_of, len(hot)) > 0, hot, cold)
    return np.asarray(chosen + FIRST_ID)


def _prices(random: np.random.Generator, count: int) -> NDArray[np.int64]:
    """From one to a million, in cents; all sizes are equally likely."""
    return np.round(10.0 ** (random.random(count) * 6.0) * 100.0).astype(np.int64)


def _sizes(random: np.random.Generator, mean: Numbers, count: int) -> NDArray[np.int64]:
    """Sizes that differ from their mean by a fifth at most."""
    delta = np.round(np.broadcast_to(mean, count) * 0.2).astype(np.int64)
    return np.asarray(mean - delta + random.integers(0, np.maximum(2 * delta, 1)))


def _picked(random: np.random.Generator, values: tuple[str, ...], count: int) -> pa.Array:
    return pa.array(values).take(pa.array(random.integers(0, len(values), count)))


def _joined(separator: str, *texts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*texts, separator)


def _people(random: np.random.Generator, events: Numbers, millis: Numbers) -> list[pa.Array]:
    count = len(events)
    names = _joined(" ", _picked(random, FIRST_NAMES, count), _picked(random, LAST_NAMES, count))
    user = EXTRA.cut(random, random.integers(3, 7, count))
    host = _joined("", EXTRA.cut(random, random.integers(3, 5, count)), pa.array([".com"] * count))
    digits = tuple(f"{number:04d}" for number in range(10_000))
    card = _joined(" ", *(_picked(random, digits, count) for _ in range(4)))
    return [
        pa.array(_last_person(events) + FIRST_ID), names, _joined("@", user, host), card,
        _picked(random, CITIES, count), _picked(random, STATES, count),
        pa.array(millis).cast(MILLIS), EXTRA.cut(random, _sizes(random, 140, count)),
    ]  # fmt: skip


def _auctions(
    random: np.random.Generator, events: Numbers, millis: Numbers, *, horizon_ms: int
) -> list[pa.Array]:
    count = len(events)
    hot = _last_person(events) // HOT_ONE_OF * HOT_ONE_OF
    seller = _chosen(random, 4, hot, _some_person(random, events))
    first_bid = _prices(random, count)
    expires = millis + 1 + random.integers(0, 2 * horizon_ms, count)
    names, texts = random.integers(3, 20, count), random.integers(3, 100, count)
    return [
        pa.array(_last_auction(events) + FIRST_ID),
        WORDS.cut(random, names), WORDS.cut(random, texts),
        pa.array(first_bid), pa.array(first_bid + _prices(random, count)),
        pa.array(millis).cast(MILLIS), pa.array(expires).cast(MILLIS),
        pa.array(seller), pa.array(FIRST_CATEGORY + random.integers(0, CATEGORIES, count)),
        EXTRA.cut(random, _sizes(random, 500 - 48 - names - texts, count)),
    ]  # fmt: skip


CHANNEL_LIST = Channels.made()


def _bids(random: np.random.Generator, events: Numbers, millis: Numbers) -> list[pa.Array]:
    count = len(events)
    hot = _last_auction(events) // HOT_ONE_OF * HOT_ONE_OF
    auction = _chosen(random, 2, hot, _some_auction(random, events))
    # the second of the hundred, so that hot bidders are not the hot sellers
    hot = _last_person(events) // HOT_ONE_OF * HOT_ONE_OF + 1
    bidder = _chosen(random, 4, hot, _some_person(random, events))
    is_hot = random.integers(0, 2, count) > 0
    first, last = random.integers(0, len(HOT_CHANNELS), count), random.integers(0, CHANNELS, count)
    channel = pa.array(np.where(is_hot, first, len(HOT_CHANNELS) + last))
    return [
        pa.array(auction), pa.array(bidder), pa.array(_prices(random, count)),
        CHANNEL_LIST.names.take(channel), CHANNEL_LIST.urls.take(channel),
        pa.array(millis).cast(MILLIS), EXTRA.cut(random, _sizes(random, 68, count)),
    ]  # fmt: skip


def flattened(events: pa.Table) -> pa.Table:
    """The same events with a column for each field: `bid.price` is `bid_price`.

    A row's `dateTime` is its event's: the three copies of it are left out.
    """
    columns = {"event_type": events["event_type"], "dateTime": events["dateTime"]}
    for kind, fields in KINDS:
        parts = events[kind].combine_chunks().flatten()
        for (name, _), part in zip(fields, parts, strict=True):
            if name != "dateTime":
                columns[f"{kind}_{name}"] = part
    return pa.table(columns)


def blocks(events: int, layout: Layout = "flat", pace: Pace = EVEN) -> Iterator[pa.Table]:
    """The first so many events, block by block."""
    for number in range(-(-events // BLOCK)):
        found = block(number, pace).slice(0, events - number * BLOCK)
        yield flattened(found) if layout == "flat" else found


def write_files(
    folder: Path, *, events: int, rows_per_file: int, layout: Layout = "flat", pace: Pace = EVEN
) -> None:
    """Write files that are to be read one after the other."""
    folder.mkdir(parents=True)
    waiting: list[pa.Table] = []
    number = 0
    for found in blocks(events, layout, pace):
        waiting.append(found)
        while sum(table.num_rows for table in waiting) >= rows_per_file:
            together = pa.concat_tables(waiting).combine_chunks()
            _write(folder, number, together.slice(0, rows_per_file))
            waiting, number = [together.slice(rows_per_file)], number + 1
    if any(table.num_rows for table in waiting):
        _write(folder, number, pa.concat_tables(waiting).combine_chunks())


def _write(folder: Path, number: int, table: pa.Table) -> None:
    pq.write_table(table, folder / f"part-{number:04d}.parquet")


def write_lanes(folder: Path, *, events: int, lanes: int, layout: Layout = "flat") -> None:
    """Write one file a lane, the blocks in turn: for readers that take files in any order."""
    folder.mkdir(parents=True)
    waiting: list[list[pa.Table]] = [[] for _ in range(lanes)]
    with ExitStack() as opened:
        writers: dict[int, pq.ParquetWriter] = {}
        for number, found in enumerate(blocks(events, layout)):
            lane = number % lanes
            if lane not in writers:
                file = folder / f"lane-{lane}.parquet"
                writers[lane] = opened.enter_context(pq.ParquetWriter(file, found.schema))
            waiting[lane].append(found)
            if len(waiting[lane]) == BLOCKS_A_ROW_GROUP:
                writers[lane].write_table(pa.concat_tables(waiting[lane]))
                waiting[lane] = []
        for lane, rest in enumerate(waiting):
            if rest:
                writers[lane].write_table(pa.concat_tables(rest))
