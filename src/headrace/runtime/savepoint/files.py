"""The state of a savepoint as Parquet: written by exporting tasks, read by loading ones.

In: entries (runtime/savepoint/entries.py).  Out: Arrow batches of ROWS, and back.  Keys,
namespaces and values are bytes in the portable form (portable.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.io.storage import Storage
from headrace.runtime.savepoint.entries import (
    DECLARED,
    EVERYWHERE,
    RECORDED,
    WATERMARK,
    SavedEntry,
    ToldStates,
    load,
)
from headrace.runtime.savepoint.portable import decode, encode
from headrace.runtime.state.layouts import ProgramLayouts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from headrace.common.opaque import JsonObject
    from headrace.runtime.pages.store import PageStore
    from headrace.spi.state import StateSpec

ROWS = pa.schema(
    [
        ("operator", pa.string()),
        ("state", pa.string()),
        ("key_group", pa.int32()),
        ("key", pa.binary()),
        ("namespace", pa.binary()),
        ("value", pa.binary()),
        ("part", pa.int64()),
    ]
)
FOLDER = "state"
_ROWS_AT_ONCE = 20_000


def to_batches(entries: Iterable[SavedEntry]) -> Iterator[pa.RecordBatch]:
    """Entries as batches of ROWS."""
    rest = iter(entries)
    while part := list(islice(rest, _ROWS_AT_ONCE)):
        operators, states, groups, keys, namespaces, values, begins = zip(*part, strict=True)
        columns = [
            pa.array(operators, pa.string()),
            pa.array(states, pa.string()),
            pa.array(groups, pa.int32()),
            *(pa.array(map(encode, cells), pa.binary()) for cells in (keys, namespaces, values)),
            pa.array(begins, pa.int64()),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=ROWS)


def to_entries(batch: pa.RecordBatch) -> Iterator[SavedEntry]:
    """The entries of a batch of ROWS."""
    columns = [batch.column(name).to_pylist() for name in ROWS.names]
    for operator, state, group, key, namespace, value, part in zip(*columns, strict=True):
        yield SavedEntry(
            operator, state, group, decode(key), decode(namespace), decode(value), part
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """An operator of the new job that takes over the state of one of the savepoint."""

    uid: str
    stored_uid: str
    parallelism: int
    max_parallelism: int


@dataclass(frozen=True, slots=True)
class SavepointLoader:
    """Fills the stores of a new job's subtasks; travels to the workers.

    Attributes:
        location: of the savepoint; must be reachable from the workers.
        files: its Parquet files.
        claims: for each stage of the job, which operators want which state.
        layouts: those that the program defines.
    """

    location: str
    files: tuple[str, ...]
    claims: tuple[tuple[Claim, ...], ...]
    layouts: ProgramLayouts = field(default_factory=ProgramLayouts)

    def __call__(self, stage: int, subtask: int, store: PageStore) -> None:
        """Load one subtask of a stage."""
        claims = {claim.stored_uid: claim for claim in self.claims[stage]}
        self.layouts.adopt()
        if claims:
            load(store, self._entries(claims, subtask))

    def _entries(self, claims: dict[str, Claim], subtask: int) -> Iterator[SavedEntry]:
        storage = Storage.open(self.location)
        seen_everywhere: set[tuple[Any, ...]] = set()
        told = ToldStates()
        for name in self.files:
            with storage.open_input(name) as stream:
                for batch in pq.ParquetFile(stream).iter_batches(_ROWS_AT_ONCE):
                    mine = batch.filter(_wanted(batch, claims, subtask))
                    for entry in to_entries(mine):
                        told.hear(entry)
                        scope = told.spec(entry.operator, entry.state).scope
                        # every old subtask wrote the same
                        if entry.is_description or scope == "broadcast":
                            place = (*entry[:3], encode(entry.key))
                            if place in seen_everywhere:
                                continue
                            seen_everywhere.add(place)
                        yield entry._replace(operator=claims[entry.operator].uid)


def _wanted(batch: pa.RecordBatch, claims: dict[str, Claim], subtask: int) -> pa.Array:
    groups = batch.column("key_group").to_numpy().astype(np.int64)
    everywhere = groups < 0
    wanted = np.zeros(batch.num_rows, dtype=bool)
    for uid, claim in claims.items():
        mine = groups * claim.parallelism // claim.max_parallelism == subtask
        # a step may have fewer subtasks than its stage has slots; broadcast state is for all it has
        here = (everywhere & (subtask < claim.parallelism)) | (~everywhere & mine)
        wanted |= pc.equal(batch.column("operator"), uid).to_numpy(zero_copy_only=False) & here
    return pa.array(wanted)


def entries_of(
    location: str, files: Iterable[str], operator: str, state: StateSpec
) -> Iterator[SavedEntry]:
    """The entries of one state, one after the other; of broadcast state each once."""
    storage = Storage.open(location)
    seen_everywhere: set[bytes] = set()
    for name in files:
        with storage.open_input(name) as stream:
            for batch in pq.ParquetFile(stream).iter_batches(_ROWS_AT_ONCE):
                mine = pc.and_(
                    pc.equal(batch.column("operator"), operator),
                    pc.equal(batch.column("state"), state.name),
                )
                entries = pc.greater_equal(batch.column("key_group"), EVERYWHERE)
                for entry in to_entries(batch.filter(pc.and_(mine, entries))):
                    if state.scope == "broadcast":
                        place = encode(entry.key)
                        if place in seen_everywhere:
                            continue
                        seen_everywhere.add(place)
                    yield entry


@dataclass(slots=True)
class StateCensus:
    """What the files of a savepoint hold of one state."""

    entries: int = 0
    recorded: JsonObject = field(default_factory=dict)
    declared: JsonObject = field(default_factory=dict)


def summarize(location: str, files: Iterable[str]) -> dict[tuple[str, str], StateCensus]:
    """How many entries there are of every (operator, state), its type and its layout."""
    storage = Storage.open(location)
    found: dict[tuple[str, str], StateCensus] = {}
    everywhere: set[tuple[str, str, bytes]] = set()
    columns = ["operator", "state", "key_group", "part"]
    for name in files:
        with storage.open_input(name) as stream:
            file = pq.ParquetFile(stream)
            for batch in file.iter_batches(_ROWS_AT_ONCE * 10, columns=columns):
                _count(batch, found)
            # few: statistics of the row groups tell which of them to read
            for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=_shared_groups(file)):
                shared = batch.filter(pc.less(batch.column("key_group"), 0))
                for row in shared.to_pylist():
                    if row["state"] == WATERMARK:
                        continue  # no state of its own: nothing is lost without its operator
                    place = (row["operator"], row["state"])
                    summary = found.setdefault(place, StateCensus())
                    if row["key_group"] == RECORDED:
                        summary.recorded = decode(row["value"])
                    elif row["key_group"] == DECLARED:
                        summary.declared = decode(row["value"])
                    elif (*place, row["key"]) not in everywhere:
                        everywhere.add((*place, row["key"]))
                        summary.entries += 1
    return found


def _count(batch: pa.RecordBatch, found: dict[tuple[str, str], StateCensus]) -> None:
    """Add the entries that belong to a key; a list or map in parts is one."""
    first = pc.fill_null(pc.equal(batch.column("part"), 0), fill_value=True)
    mine = batch.filter(pc.and_(first, pc.greater_equal(batch.column("key_group"), 0)))
    if not mine.num_rows:
        return
    table = pa.Table.from_batches([mine])
    counted = table.group_by(["operator", "state"]).aggregate([("key_group", "count")])
    for row in counted.to_pylist():
        place = (row["operator"], row["state"])
        found.setdefault(place, StateCensus()).entries += row["key_group_count"]


def _shared_groups(file: pq.ParquetFile) -> list[int]:
    number = file.schema_arrow.get_field_index("key_group")
    metadata = file.metadata
    found = []
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(number).statistics
        if statistics is None or not statistics.has_min_max or statistics.min < 0:
            found.append(group)
    return found


# --- without a job -------------------------------------------------------------------------------


def write_rows(location: str, name: str, entries: Iterable[SavedEntry]) -> None:
    """Write entries as one more Parquet file of a savepoint."""
    with (
        Storage.open(location).open_output(f"{FOLDER}/{name}.parquet") as stream,
        pq.ParquetWriter(stream, ROWS, compression="zstd") as writer,
    ):
        for batch in to_batches(entries):
            writer.write_batch(batch)


def copy_rows(
    source: str, files: Iterable[str], target: str, keep: Callable[[str, str], bool]
) -> None:
    """Copy the rows of the operators and states that are to be kept."""
    origin, copy = Storage.open(source), Storage.open(target)
    for number, name in enumerate(files):
        path = f"{FOLDER}/part-kept-{number}.parquet"
        with (
            origin.open_input(name) as stream,
            copy.open_output(path) as output,
            pq.ParquetWriter(output, ROWS, compression="zstd") as writer,
        ):
            for batch in pq.ParquetFile(stream).iter_batches(_ROWS_AT_ONCE):
                pairs = zip(
                    batch.column("operator").to_pylist(),
                    batch.column("state").to_pylist(),
                    strict=True,
                )
                kept = batch.filter(pa.array([keep(*pair) for pair in pairs], pa.bool_()))
                if kept.num_rows:
                    writer.write_batch(kept.cast(ROWS))
