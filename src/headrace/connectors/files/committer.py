"""Publishes staged files once per batch, whatever dies in between.

In: committables of a batch (writer.py).  Out: files at their final names.
Next: formats/compaction.py

A commit is: store the decision (manifest.py), then carry it out. The decision is stored by one
atomic rename, so it is either there or not:

    crash before the rename   nothing happened; the retry decides again, old staged files are swept
    crash after the rename    the decision stands; the retry finishes it and drops its own files

Every step of carrying out can be repeated: a move whose source is gone has been done, and a merge
that lost a source has been published. Before a new decision the one before is always finished, so
only the newest manifest can be unfinished.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.connectors.files.manifest import (
    CommitPlanner,
    FileCommittable,
    Kind,
    Manifest,
    Merge,
    Move,
    batch_of_staged,
    order_of_manifest,
)
from headrace.errors import ConnectorError
from headrace.spi.staging import OnceCommitter

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.opaque import Committable
    from headrace.formats.compaction import MergeFiles
    from headrace.io.storage import Storage, StoredFile

# Only the newest manifest is needed; a few more help a person to see what happened.
MANIFESTS_KEPT = 5


class FileCommitter(OnceCommitter):
    """The committer of a file sink.

    Args:
        storage: the output folder.
        planner: decides where files go.
        merge_files: merges pending files; only needed when the planner compacts.
        merge_threads: how many merges run at once.
        clock: now, in epoch milliseconds; by default the wall clock. It is asked once for each
            decision, which is stored with the answer: whoever finishes it uses no other clock.
        success_name: of an empty file that folders get with their files; None for none.
    """

    def __init__(
        self,
        storage: Storage,
        planner: CommitPlanner,
        merge_files: MergeFiles | None = None,
        *,
        merge_threads: int = 1,
        clock: Callable[[], int] | None = None,
        success_name: str | None = None,
    ) -> None:
        super().__init__(str(storage), forget=planner.layout.folder)
        self._storage = storage
        self._planner = planner
        self._layout = planner.layout
        self._merge_files = merge_files
        self._merge_threads = merge_threads
        self._clock = clock or wall_clock
        self._success_name = success_name
        # rebuilt on open; None after a failure, when only the folder knows what was done
        self._known: _Known | None = None

    def apply_once(self, batch_id: int, committables: list[Committable]) -> int:
        """Publishes the files of a batch, or finishes what an earlier try decided."""
        known = self._begin()
        newest = -1 if known.last is None else known.last.batch_id
        if batch_id > newest:
            self._check_all_staged(committables)
            now_ms = self._clock()
            manifest = self._planner.plan_batch(known.last, batch_id, committables, now_ms)
            self._decide(known, manifest)
        self._known = known
        return newest

    def remove_staged(self, batch_id: int) -> None:
        """Removes the hidden files of batches that are over, and all but the newest decisions."""
        for file in self._storage.list(self._layout.staging):
            batch = batch_of_staged(file.name)
            if batch is not None and batch <= batch_id:
                self._storage.delete(f"{self._layout.staging}/{file.name}")
        orders = [] if self._known is None else self._known.orders
        while len(orders) > MANIFESTS_KEPT:
            self._storage.delete(self._layout.manifest(orders[0]))
            del orders[0]

    def sweep(self, batch_id: int) -> None:
        """Removes leftovers, or fails the batch: it is repeated, and nobody else would come by.

        The folder is the user's; what stays in it after the last batch stays for good.
        """
        self.remove_staged(batch_id)

    @property
    def holds_back(self) -> bool:
        """Whether files wait, or may: what an earlier run left is not known before it is read."""
        if self._known is None:
            return self._planner.may_hold_back
        return self._known.last is not None and bool(self._known.last.pending)

    def publish_held_back(self) -> None:
        """Publishes the files that wait to be merged."""
        known = self._begin()
        if known.last is not None and known.last.pending:
            self._decide(known, self._planner.plan_flush(known.last, self._clock()))
        self._known = known

    # the two halves of a commit

    def _decide(self, known: _Known, manifest: Manifest) -> None:
        self._storage.write_atomic(self._layout.manifest(manifest.order), manifest.to_json())
        known.remember(manifest)
        self._carry_out(manifest)

    def _carry_out(self, manifest: Manifest) -> None:
        for move in manifest.moves:
            self._move(move)
        self._run_merges(manifest.merges)
        targets = [m.target for m in manifest.moves] + [m.target for m in manifest.merges]
        self._storage.sync_folders(targets)
        if self._success_name is not None:
            own = f"{self._layout.folder}/"
            in_sight = [target for target in targets if not target.startswith(own)]
            for folder in sorted({target.rpartition("/")[0] for target in in_sight}):
                at = f"{folder}/{self._success_name}" if folder else self._success_name
                self._storage.write_atomic(at, b"")

    def _move(self, move: Move) -> None:
        if self._storage.exists(move.source):
            self._storage.move(move.source, move.target)

    def _run_merges(self, merges: tuple[Merge, ...]) -> None:
        if len(merges) < 2 or self._merge_threads < 2:
            for merge in merges:
                self._merge(merge)
            return
        with ThreadPoolExecutor(self._merge_threads, "headrace-compact") as pool:
            list(pool.map(self._merge, merges))

    def _merge(self, merge: Merge) -> None:
        storage = self._storage
        draft = self._layout.merging(merge.target.rpartition("/")[2])
        unpublished = all(storage.exists(path) for path in merge.sources)
        if unpublished and not storage.exists(merge.target):
            if self._merge_files is None:
                raise ConnectorError(
                    f"an earlier run decided to merge files into {merge.target!r}, but this sink "
                    "has no compactor",
                    where=str(storage),
                    fix="call enable_compact with the compactor of the earlier run",
                )
            with storage.explained("merge files into", merge.target):
                self._merge_files(storage, list(merge.sources), draft)
            storage.seal(draft)
            storage.move(draft, merge.target)
            storage.sync_folders([merge.target])
        else:
            storage.delete(draft)  # a store that moves by copying may have left it
        # Only now: a missing source is the sign that the target has been published.
        for path in merge.sources:
            storage.delete(path)

    # what is known and what is left over

    def _begin(self) -> _Known:
        """What was decided so far, all of it carried out."""
        known, self._known = self._known, None
        if known is None or self._is_behind(known):
            known = self._read_folder()
            if known.last is not None:
                self._carry_out(known.last)
        return known

    def _is_behind(self, known: _Known) -> bool:
        """Whether another driver has decided since, and may have published what waits here."""
        if known.last is None or not known.last.pending:
            return False
        return _orders(self._storage.list(self._layout.folder))[-1:] != known.orders[-1:]

    def _read_folder(self) -> _Known:
        folder = self._layout.folder
        files = self._storage.list(folder)
        for file in files:
            if file.name.endswith(".tmp"):
                self._storage.delete(f"{folder}/{file.name}")
        orders = _orders(files)
        if orders:
            return _Known(orders, self._read_manifest(folder, orders[-1]))
        # A job of an earlier version goes on: its last decision names its files where they are.
        former = self._layout.former_folder
        orders = _orders(self._storage.list(former))
        return _Known([], self._read_manifest(former, orders[-1]) if orders else None)

    def _read_manifest(self, folder: str, order: tuple[int, Kind]) -> Manifest:
        path = f"{folder}/{self._layout.manifest(order).rpartition('/')[2]}"
        return Manifest.from_json(self._storage.read(path), f"{self._storage}/{path}")

    def _check_all_staged(self, committables: list[FileCommittable]) -> None:
        """Refuses to decide on files that the driver cannot see."""
        if not committables:
            return
        listed = self._storage.list(self._layout.staging)
        sizes = {f"{self._layout.staging}/{file.name}": file.size_bytes for file in listed}
        for file in committables:
            if sizes.get(file.staged) != file.size_bytes:
                found = sizes.get(file.staged)
                state = "is missing" if found is None else f"has {found} bytes"
                raise ConnectorError(
                    f"a worker staged {file.staged!r} with {file.size_bytes} bytes, but seen from "
                    f"the driver it {state}",
                    where=str(self._storage),
                    fix="give the sink a path that driver and workers share (a network mount, s3, "
                    "hdfs), and let nothing else delete files below .headrace",
                )


def _orders(files: list[StoredFile]) -> list[tuple[int, Kind]]:
    listed = (order_of_manifest(file.name) for file in files)
    return sorted(order for order in listed if order is not None)


class _Known:
    """The manifests that exist, oldest first, and the newest one's content."""

    def __init__(self, orders: list[tuple[int, Kind]], last: Manifest | None) -> None:
        self.orders = orders
        self.last = last

    def remember(self, manifest: Manifest) -> None:
        self.orders.append(manifest.order)
        self.last = manifest
