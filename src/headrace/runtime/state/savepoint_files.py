"""The state of a savepoint as Parquet: written by exporting tasks, read by loading ones.

In: entries (runtime/state/entries.py).  Out: Arrow batches of ROWS, and back.  Keys, namespaces and
values are bytes in the portable form (portable.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.runtime.sinks.storage import Storage
from headrace.runtime.state.entries import EVERYWHERE, SavedEntry, load
from headrace.runtime.state.portable import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.runtime.state.backend import PageStore

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
    """

    location: str
    files: tuple[str, ...]
    claims: tuple[tuple[Claim, ...], ...]

    def __call__(self, stage: int, subtask: int, store: PageStore) -> None:
        """Load one subtask of a stage."""
        claims = {claim.stored_uid: claim for claim in self.claims[stage]}
        if claims:
            load(store, self._entries(claims, subtask))

    def _entries(self, claims: dict[str, Claim], subtask: int) -> Iterator[SavedEntry]:
        storage = Storage.open(self.location)
        seen_everywhere: set[tuple[str, str, bytes]] = set()
        for name in self.files:
            with storage.open_input(name) as stream:
                for batch in pq.ParquetFile(stream).iter_batches(_ROWS_AT_ONCE):
                    mine = batch.filter(_wanted(batch, claims, subtask))
                    for entry in to_entries(mine):
                        if entry.key_group == EVERYWHERE:  # every old subtask wrote the same
                            place = (entry.operator, entry.state, encode(entry.key))
                            if place in seen_everywhere:
                                continue
                            seen_everywhere.add(place)
                        yield entry._replace(operator=claims[entry.operator].uid)


def _wanted(batch: pa.RecordBatch, claims: dict[str, Claim], subtask: int) -> pa.Array:
    groups = batch.column("key_group").to_numpy().astype(np.int64)
    everywhere = groups == EVERYWHERE
    wanted = np.zeros(batch.num_rows, dtype=bool)
    for uid, claim in claims.items():
        mine = groups * claim.parallelism // claim.max_parallelism == subtask
        # a step may have fewer subtasks than its stage has slots; broadcast state is for all it has
        here = (everywhere & (subtask < claim.parallelism)) | (~everywhere & mine)
        wanted |= pc.equal(batch.column("operator"), uid).to_numpy(zero_copy_only=False) & here
    return pa.array(wanted)
