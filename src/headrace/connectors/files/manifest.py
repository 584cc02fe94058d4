"""What a file sink decides for one batch, and how the decision is written down.

In: committables and the decision before.  Out: a `Manifest`, which committer.py stores and
then carries out.  Nothing here touches a file, so every rule can be tested with plain values.

    <path>/                                          what readers see
        part-4f1c…-0000000007-00000-0000.parquet
        2024-05-01--13/part-…                        a bucket
        .headrace/<sink uid>/<job id>/               what they do not (leading dot)
            staging/<batch>-<subtask>-<attempt>-<n>  written by workers
            pending/part-…                           committed, waiting to be merged
            merging/compacted-part-…                 a merge under way
            batch-<n>.json  flush-<n>.json           decisions
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote

from headrace.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

FORMAT_VERSION = 2
# 1 had no times: files that wait since then have waited long enough
_READABLE = (1, 2)

# Copying has a price: a file of this size does not wait for others.
LARGE_BYTES = 16 << 20
# So many waiting files become one that waits, so that decisions stay short and no merge is long.
FOLDED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class FileCommittable:
    """A file that a writer staged.

    Attributes:
        staged: its path, relative to the output folder.
        bucket: folder of its final place, relative; empty for the output folder itself.
        subtask: which writer wrote it.
        part: how many files that writer had finished before, in this batch.
        rows: records in it.
        size_bytes: its size.
        shape: files of one shape (columns and their types) can be merged with each other.
    """

    staged: str
    bucket: str
    subtask: int
    part: int
    rows: int
    size_bytes: int
    shape: str = ""


@dataclass(frozen=True, slots=True)
class SinkPlaces:
    """Where the files of one sink of one job are, relative to the output folder."""

    job_id: str
    sink_uid: str

    @property
    def folder(self) -> str:
        """The sink's own folder."""
        return f".headrace/{quote(self.sink_uid, safe='')}/{quote(self.job_id, safe='')}"

    @property
    def former_folder(self) -> str:
        """What `folder` was in earlier versions; patterns such as ``*/*`` found it."""
        return f"_{self.folder[1:]}"

    @property
    def staging(self) -> str:
        """The folder that workers write to."""
        return f"{self.folder}/staging"

    def staged(self, batch_id: int, subtask: int, attempt: str, number: int) -> str:
        """Path of a file while a worker writes it."""
        tail = f"{subtask:05d}-{quote(attempt, safe='')}-{number:05d}"
        return f"{self.staging}/{batch_id:010d}-{tail}"

    def pending(self, name: str) -> str:
        """Path of a committed file that waits to be merged."""
        return f"{self.folder}/pending/{name}"

    def merging(self, name: str) -> str:
        """Path of a merged file while it is written."""
        return f"{self.folder}/merging/{name}"

    def manifest(self, order: tuple[int, Kind]) -> str:
        """Path of a decision."""
        return f"{self.folder}/{order[1]}-{order[0]:010d}.json"

    def part_name(self, prefix: str, file: FileCommittable, batch_id: int, suffix: str) -> str:
        """Final name: the same for the same batch, subtask and part, and no other job's."""
        identity = f"{self.job_id}\n{self.sink_uid}".encode()
        token = hashlib.sha256(identity).hexdigest()[:12]
        return f"{prefix}-{token}-{batch_id:010d}-{file.subtask:05d}-{file.part:05d}{suffix}"


Kind = Literal["batch", "flush"]


def batch_of_staged(name: str) -> int | None:
    """The batch a staged file belongs to; None for a name that is not ours."""
    head = name.split("-", 1)[0]
    return int(head) if head.isdigit() else None


def order_of_manifest(name: str) -> tuple[int, Kind] | None:
    """Batch and kind told by a manifest's file name; None for a name that is not a manifest."""
    kind, _, rest = name.partition("-")
    number = rest.removesuffix(".json")
    if kind not in ("batch", "flush") or number == rest or not number.isdigit():
        return None
    # "batch" sorts before "flush": a flush follows the batch whose number it carries.
    return int(number), kind  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Move:
    """One file changes its place."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Merge:
    """Some pending files become one final file."""

    sources: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class PendingFile:
    """A committed file that waits for others to be merged with.

    Attributes:
        path: where it waits.
        bucket: its bucket.
        name: the name it gets when it is published alone.
        size_bytes: its size.
        commits: how many commits it has seen, its own included.
        shape: see `FileCommittable`.
        subtask: which writer wrote it.
        since_ms: no record in it is older: when the decision before its own was made.
        until_ms: no record in it is newer: when its own was made.
        is_folded: whether it was made of several that waited.
    """

    path: str
    bucket: str
    name: str
    size_bytes: int
    commits: int
    shape: str = ""
    subtask: int = 0
    since_ms: int = 0
    until_ms: int = 0
    is_folded: bool = False


@dataclass(frozen=True, slots=True)
class Manifest:
    """The decision for one batch: once stored it is carried out, and never changed.

    ``decided_ms`` is the one moment at which the clock was asked; 0 if it is not known.
    """

    batch_id: int
    kind: Kind
    moves: tuple[Move, ...] = ()
    merges: tuple[Merge, ...] = ()
    pending: tuple[PendingFile, ...] = ()
    rows: int = 0
    decided_ms: int = 0

    @property
    def order(self) -> tuple[int, Kind]:
        """Later decisions compare greater."""
        return self.batch_id, self.kind

    def to_json(self) -> bytes:
        """The stored form."""
        return json.dumps({"format": FORMAT_VERSION, **asdict(self)}, indent=1).encode()

    @classmethod
    def from_json(cls, content: bytes, where: str) -> Manifest:
        """Reads the stored form.

        Raises:
            StateError: it is not a manifest, or one of a later version of headrace.
        """
        try:
            stored = json.loads(content)
            if stored["format"] not in _READABLE:
                raise StateError(
                    f"the manifest has format {stored['format']}, this version of headrace reads "
                    f"formats up to {FORMAT_VERSION}",
                    where=where,
                    fix="run the version of headrace that wrote it, or a later one",
                )
            return cls(
                batch_id=stored["batch_id"],
                kind=stored["kind"],
                moves=tuple(Move(**m) for m in stored["moves"]),
                merges=tuple(Merge(tuple(m["sources"]), m["target"]) for m in stored["merges"]),
                pending=tuple(PendingFile(**p) for p in stored["pending"]),
                rows=stored["rows"],
                decided_ms=stored.get("decided_ms", 0),
            )
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, StateError):
                raise
            raise StateError(
                f"the manifest cannot be read: {error}",
                where=where,
                fix="restore the file from a backup; without it headrace cannot know which batches "
                "were written",
            ) from error


@dataclass(frozen=True, slots=True)
class CompactionRules:
    """When pending files are merged; a threshold of -1 never triggers."""

    size_threshold: int = -1
    commits_threshold: int = -1


@dataclass(frozen=True, slots=True)
class RollingRules:
    """When the files of one bucket and writer are a whole part.

    Attributes:
        part_bytes: together they are this large.
        rollover_ms: the oldest record in them may be this old.
        inactivity_ms: so long no record has come.
    """

    part_bytes: int
    rollover_ms: int
    inactivity_ms: int

    def is_whole(self, files: list[PendingFile], now_ms: int) -> bool:
        """Whether these files need not wait for more."""
        newest_ms = max(file.until_ms for file in files)
        return (
            sum(file.size_bytes for file in files) >= self.part_bytes
            or now_ms - min(file.since_ms for file in files) >= self.rollover_ms
            or now_ms - newest_ms >= self.inactivity_ms
            or now_ms < newest_ms  # the clock was set back: nobody knows how old they are
        )


@dataclass(frozen=True, slots=True)
class CommitPlanner:
    """Decides where the files of a batch go.

    Without rules for rolling and compaction every file is published with its batch.

    Attributes:
        layout: the sink's folders.
        prefix: begin of part file names.
        suffix: end of part file names.
        compaction: when the files of a bucket are merged. With rules for rolling, too, its count of
            commits begins to matter when the files are whole parts.
        merges_files: False when pending files are published one by one (identical compactor).
        rolling: when the files of a bucket and a writer become one, as if it had been open over
            epochs; None if a part ends with its epoch.
    """

    layout: SinkPlaces
    prefix: str = "part"
    suffix: str = ""
    compaction: CompactionRules | None = None
    merges_files: bool = True
    rolling: RollingRules | None = None

    @property
    def may_hold_back(self) -> bool:
        """Whether files may wait."""
        return self.compaction is not None or self.rolling is not None

    def plan_batch(
        self,
        previous: Manifest | None,
        batch_id: int,
        files: list[FileCommittable],
        now_ms: int = 0,
    ) -> Manifest:
        """The decision for a batch's staged files and for what was pending before.

        Args:
            previous: the decision before.
            batch_id: number of the batch.
            files: what its writers staged.
            now_ms: the clock.
        """
        ordered = sorted(files, key=lambda f: (f.subtask, f.part))
        draft = _Draft(list(previous.pending) if previous else [], now_ms)
        since_ms = now_ms
        if previous is not None and previous.decided_ms:
            since_ms = min(previous.decided_ms, now_ms)
        for file in ordered:
            self._place(draft, file, batch_id, since_ms)
        if self.compaction is not None:
            self._publish_due(draft, self.compaction)
        elif self.rolling is not None:
            self._publish_whole(draft, self.rolling)
        else:
            self._publish(draft, draft.pending)
        return draft.manifest(batch_id, "batch", rows=sum(f.rows for f in ordered))

    def plan_flush(self, previous: Manifest, now_ms: int = 0) -> Manifest:
        """The decision to publish everything that is pending."""
        draft = _Draft(list(previous.pending), now_ms)
        if self.compaction is None and self.rolling is not None:
            for files in _by(draft.pending, lambda p: (p.bucket, p.subtask)):
                self._publish(draft, files)
        else:
            self._publish(draft, draft.pending)
        return draft.manifest(previous.batch_id, "flush", rows=0)

    def _place(self, draft: _Draft, file: FileCommittable, batch_id: int, since_ms: int) -> None:
        name = self.layout.part_name(self.prefix, file, batch_id, self.suffix)
        if self._needs_no_other(file):
            if self.compaction is None:
                # a part that went on growing behind this one would have the earlier name
                writer = (file.bucket, file.subtask)
                before = [p for p in draft.pending if (p.bucket, p.subtask) == writer]
                self._publish(draft, before)
            draft.moves.append(Move(file.staged, _join(file.bucket, name)))
            return
        waits_at = self.layout.pending(name)
        draft.moves.append(Move(file.staged, waits_at))
        waiting = PendingFile(
            waits_at, file.bucket, name, file.size_bytes, 0, file.shape,
            subtask=file.subtask, since_ms=since_ms, until_ms=draft.now_ms,
        )  # fmt: skip
        draft.pending.append(waiting)

    def _needs_no_other(self, file: FileCommittable) -> bool:
        if self.compaction is not None:
            return 0 <= self.compaction.size_threshold <= file.size_bytes
        if self.rolling is not None:
            return file.size_bytes >= min(self.rolling.part_bytes, LARGE_BYTES)
        return True

    def _publish_due(self, draft: _Draft, rules: CompactionRules) -> None:
        draft.pending = [replace(p, commits=p.commits + 1) for p in draft.pending]
        for files in _by(draft.pending, lambda p: p.bucket):
            large = 0 <= rules.size_threshold <= sum(p.size_bytes for p in files)
            waited = 0 < rules.commits_threshold <= max(p.commits for p in files)
            whole = self.rolling is None or self.rolling.is_whole(files, draft.now_ms)
            if large or (waited and whole):
                self._publish(draft, files)

    def _publish_whole(self, draft: _Draft, rules: RollingRules) -> None:
        for files in _by(draft.pending, lambda p: (p.bucket, p.subtask)):
            if rules.is_whole(files, draft.now_ms):
                self._publish(draft, files)
                continue
            for alike in _by([p for p in files if not p.is_folded], lambda p: p.shape):
                if len(alike) >= FOLDED_AT_ONCE:
                    self._fold(draft, alike)

    def _fold(self, draft: _Draft, files: list[PendingFile]) -> None:
        first = files[0]
        folded = replace(
            first,
            path=self.layout.pending(f"folded-{first.name}"),
            size_bytes=sum(p.size_bytes for p in files),
            until_ms=max(p.until_ms for p in files),
            is_folded=True,
        )
        draft.merges.append(Merge(tuple(p.path for p in files), folded.path))
        gone = {p.path for p in files}
        place = draft.pending.index(first)
        draft.pending[place] = folded
        draft.pending = [p for p in draft.pending if p.path not in gone]

    def _publish(self, draft: _Draft, due: list[PendingFile]) -> None:
        for files in _by(due, lambda p: (p.bucket, p.shape)):
            bucket, name = files[0].bucket, files[0].name
            if len(files) > 1 and self.merges_files:
                # a part that grew over epochs is a part; files of several writers are something new
                name = f"compacted-{name}" if self.compaction is not None else name
                draft.merges.append(Merge(tuple(p.path for p in files), _join(bucket, name)))
            else:
                draft.publish_moves += [Move(p.path, _join(bucket, p.name)) for p in files]
        published = {p.path for p in due}
        draft.pending = [p for p in draft.pending if p.path not in published]


@dataclass(slots=True)
class _Draft:
    pending: list[PendingFile]
    now_ms: int
    moves: list[Move] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    publish_moves: list[Move] = field(default_factory=list)

    def manifest(self, batch_id: int, kind: Kind, *, rows: int) -> Manifest:
        # A file may move to the pending area and on from there in one decision: order matters.
        moves = (*self.moves, *self.publish_moves)
        return Manifest(
            batch_id, kind, moves, tuple(self.merges), tuple(self.pending), rows, self.now_ms
        )


def _by(
    files: list[PendingFile], key: Callable[[PendingFile], Hashable]
) -> list[list[PendingFile]]:
    """The files with the same key together, in the order they came."""
    groups: dict[Hashable, list[PendingFile]] = {}
    for file in files:
        groups.setdefault(key(file), []).append(file)
    return list(groups.values())


def _join(bucket: str, name: str) -> str:
    return f"{bucket}/{name}" if bucket else name
