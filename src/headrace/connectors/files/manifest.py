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
from typing import Literal
from urllib.parse import quote

from headrace.errors import StateError

FORMAT_VERSION = 1


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
    """

    path: str
    bucket: str
    name: str
    size_bytes: int
    commits: int
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The decision for one batch: once stored it is carried out, and never changed."""

    batch_id: int
    kind: Kind
    moves: tuple[Move, ...] = ()
    merges: tuple[Merge, ...] = ()
    pending: tuple[PendingFile, ...] = ()
    rows: int = 0

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
            if stored["format"] != FORMAT_VERSION:
                raise StateError(
                    f"the manifest has format {stored['format']}, this version of headrace reads "
                    f"format {FORMAT_VERSION}",
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
class CommitPlanner:
    """Decides where the files of a batch go.

    Attributes:
        layout: the sink's folders.
        prefix: begin of part file names.
        suffix: end of part file names.
        compaction: when to merge, or None to publish every file at once.
        merges_files: False when pending files are published one by one (identical compactor).
    """

    layout: SinkPlaces
    prefix: str = "part"
    suffix: str = ""
    compaction: CompactionRules | None = None
    merges_files: bool = True

    def plan_batch(
        self, previous: Manifest | None, batch_id: int, files: list[FileCommittable]
    ) -> Manifest:
        """The decision for a batch's staged files and for what was pending before."""
        ordered = sorted(files, key=lambda f: (f.subtask, f.part))
        draft = _Draft(list(previous.pending) if previous else [])
        for file in ordered:
            self._place(draft, file, batch_id)
        if self.compaction is None:
            self._publish(draft, draft.pending)
        else:
            self._publish_due(draft, self.compaction)
        return draft.manifest(batch_id, "batch", rows=sum(f.rows for f in ordered))

    def plan_flush(self, previous: Manifest) -> Manifest:
        """The decision to publish everything that is pending."""
        draft = _Draft(list(previous.pending))
        self._publish(draft, draft.pending)
        return draft.manifest(previous.batch_id, "flush", rows=0)

    def _place(self, draft: _Draft, file: FileCommittable, batch_id: int) -> None:
        name = self.layout.part_name(self.prefix, file, batch_id, self.suffix)
        rules = self.compaction
        if rules is None or 0 <= rules.size_threshold <= file.size_bytes:
            draft.moves.append(Move(file.staged, _join(file.bucket, name)))
            return
        waits_at = self.layout.pending(name)
        draft.moves.append(Move(file.staged, waits_at))
        waiting = PendingFile(waits_at, file.bucket, name, file.size_bytes, 0, file.shape)
        draft.pending.append(waiting)

    def _publish_due(self, draft: _Draft, rules: CompactionRules) -> None:
        draft.pending = [replace(p, commits=p.commits + 1) for p in draft.pending]
        for files in _by_bucket(draft.pending).values():
            large = 0 <= rules.size_threshold <= sum(p.size_bytes for p in files)
            waited = 0 < rules.commits_threshold <= max(p.commits for p in files)
            if large or waited:
                self._publish(draft, files)

    def _publish(self, draft: _Draft, due: list[PendingFile]) -> None:
        groups: dict[tuple[str, str], list[PendingFile]] = {}
        for file in due:
            groups.setdefault((file.bucket, file.shape), []).append(file)
        for (bucket, _), files in groups.items():
            if len(files) > 1 and self.merges_files:
                target = _join(bucket, f"compacted-{files[0].name}")
                draft.merges.append(Merge(tuple(p.path for p in files), target))
            else:
                draft.publish_moves += [Move(p.path, _join(bucket, p.name)) for p in files]
        published = {p.path for p in due}
        draft.pending = [p for p in draft.pending if p.path not in published]


@dataclass(slots=True)
class _Draft:
    pending: list[PendingFile]
    moves: list[Move] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    publish_moves: list[Move] = field(default_factory=list)

    def manifest(self, batch_id: int, kind: Kind, *, rows: int) -> Manifest:
        # A file may move to the pending area and on from there in one decision: order matters.
        moves = (*self.moves, *self.publish_moves)
        return Manifest(batch_id, kind, moves, tuple(self.merges), tuple(self.pending), rows)


def _by_bucket(files: list[PendingFile]) -> dict[str, list[PendingFile]]:
    buckets: dict[str, list[PendingFile]] = {}
    for file in files:
        buckets.setdefault(file.bucket, []).append(file)
    return buckets


def _join(bucket: str, name: str) -> str:
    return f"{bucket}/{name}" if bucket else name
