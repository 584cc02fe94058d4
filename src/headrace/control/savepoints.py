"""What a savepoint is on disk: a directory that holds a job's state and the places of its sources.

    metadata.json          job, operators with their states and types, sources, a checksum a file
    state/part-*.parquet   one row per entry: operator, state, key group, key, namespace, value
    sources/<n>/...        what Spark's source number n keeps beside its offset

metadata.json is written last and with a checksum of its own: a directory without it, or with a
file that does not match, is not a savepoint.  Nothing in it depends on the parallelism of the job.
In: a location.  Out: a savepoint, checked.  Next: control/restore.py, hosts/spark/state/export.py
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from headrace import __version__
from headrace.errors import ConnectorError, SavepointError
from headrace.io.storage import Storage
from headrace.runtime.savepoint.files import FOLDER, summarize
from headrace.runtime.state.declared import spec_from_json
from headrace.runtime.state.names_of_0_1 import spec_in_0_1
from headrace.runtime.state.recorded import Recorded

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.common.opaque import JsonObject
    from headrace.spi.state import StateSpec

FORMAT = 1
METADATA = "metadata.json"
STATE_FOLDER, SOURCES_FOLDER = FOLDER, "sources"
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class SavedState:
    """One state of an operator: its type and layout, and how much there is of it."""

    name: str
    # as runtime/state records it with the state itself; empty for what headrace keeps for itself
    type: JsonObject
    entries: int
    # as its operator declared it; empty in savepoints of 0.1
    declared: JsonObject = field(default_factory=dict)

    @property
    def spec(self) -> StateSpec:
        """Its layout, and whose its entries are."""
        if not self.declared:
            return spec_in_0_1(self.name)
        return spec_from_json(self.name, self.declared)

    @property
    def type_text(self) -> str:
        """The recorded type for people; empty if there is none."""
        return str(Recorded(**self.type)) if self.type else ""


@dataclass(frozen=True, slots=True)
class SavedOperator:
    """An operator that kept something."""

    uid: str
    name: str
    kind: str
    parallelism: int
    max_parallelism: int
    states: tuple[SavedState, ...] = ()

    @property
    def entries(self) -> int:
        """How many entries of state it holds."""
        return sum(state.entries for state in self.states)


@dataclass(frozen=True, slots=True)
class SavedSource:
    """A source: one offset for each of Spark's sources behind it, and their numbers in the job."""

    uid: str
    kind: str
    offsets: tuple[str | None, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StoredSavepoint:
    """A savepoint that was read and whose metadata is whole."""

    location: str
    job_id: str
    job_name: str
    # the job's directory, which the files of some sources are in
    job_dir: str
    batch_id: int
    created_ms: int
    drained: bool
    operators: tuple[SavedOperator, ...]
    sources: tuple[SavedSource, ...]
    # path -> (bytes, sha256)
    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    headrace: str = __version__

    @property
    def bytes(self) -> int:
        """How large it is."""
        return sum(size for size, _ in self.files.values())

    @property
    def entries(self) -> int:
        """How many entries of state it holds."""
        return sum(operator.entries for operator in self.operators)

    def state_files(self) -> list[str]:
        """The Parquet files, relative to the location."""
        return _state_files(self.files)

    def to_json(self) -> JsonObject:
        """As plain data, without the location: a savepoint may be moved."""
        content = asdict(self)
        del content["location"]
        return {"format": FORMAT, **content}


def write_metadata(savepoint: StoredSavepoint) -> None:
    """Make a directory a savepoint."""
    content = savepoint.to_json()
    content["checksum"] = _digest(content)
    text = json.dumps(content, indent=1).encode()
    Storage.open(savepoint.location).write_atomic(METADATA, text)


def read_savepoint(location: str) -> StoredSavepoint:
    """The savepoint at a location; its metadata is checked, its files are not (see `verify`).

    Raises:
        SavepointError: there is none, it is broken, or of a later format.
    """
    storage = Storage.open(location)
    try:
        found = storage.exists(METADATA)
        text = storage.read(METADATA) if found else b""
    except ConnectorError as error:
        raise SavepointError(
            f"the savepoint cannot be read: {error.message}", where=location, fix=error.fix
        ) from error
    if not found:
        raise SavepointError(
            f"there is no savepoint here: {METADATA} is missing",
            where=location,
            fix="give the directory that `headrace savepoint` printed; one whose writing was "
            "interrupted has no metadata and can be deleted",
        )
    return _parse(location, text)


def _parse(location: str, text: bytes) -> StoredSavepoint:
    try:
        content: JsonObject = json.loads(text)
        version, checksum = int(content["format"]), content.pop("checksum")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _broken(location, f"{METADATA} is incomplete") from None
    if version > FORMAT:
        raise SavepointError(
            f"the savepoint has format {version}, written by headrace {content.get('headrace')}; "
            f"this is headrace {__version__}, which reads up to format {FORMAT}",
            where=location,
            fix="use that version of headrace, or a later one",
        )
    if checksum != _digest(content):
        raise _broken(location, f"{METADATA} does not match its own checksum")
    return StoredSavepoint(
        location=location,
        job_id=content["job_id"],
        job_name=content["job_name"],
        job_dir=content["job_dir"],
        batch_id=content["batch_id"],
        created_ms=content["created_ms"],
        drained=content["drained"],
        operators=tuple(_operator(operator) for operator in content["operators"]),
        sources=tuple(_source(source) for source in content["sources"]),
        files={name: (size, digest) for name, (size, digest) in content["files"].items()},
        headrace=content["headrace"],
    )


def _operator(content: JsonObject) -> SavedOperator:
    states = tuple(SavedState(**state) for state in content["states"])
    return SavedOperator(**{**content, "states": states})


def _source(content: JsonObject) -> SavedSource:
    return SavedSource(
        uid=content["uid"],
        kind=content["kind"],
        offsets=tuple(content["offsets"]),
        numbers=tuple(content["numbers"]),
    )


def _digest(content: JsonObject) -> str:
    plain = json.dumps({k: v for k, v in content.items() if k != "checksum"}, sort_keys=True)
    return hashlib.sha256(plain.encode()).hexdigest()


def _broken(location: str, what: str) -> SavepointError:
    return SavepointError(
        f"the savepoint is broken: {what}",
        where=location,
        fix="take another savepoint, or restore the directory from a backup",
    )


def _state_files(files: Iterable[str]) -> list[str]:
    return [name for name in files if name.startswith(f"{STATE_FOLDER}/")]


def written_files(location: str) -> list[str]:
    """The files of state and of sources below a location, without what Spark puts beside them."""
    storage = Storage.open(location)
    names = [*storage.walk(STATE_FOLDER), *storage.walk(SOURCES_FOLDER)]
    return [name for name in names if not name.endswith(".crc") and "/_" not in name]


def checksums(location: str, names: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Size and checksum of some files below a location."""
    storage = Storage.open(location)
    return {name: _checksum(storage, name) for name in names}


def _checksum(storage: Storage, name: str) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    with storage.open_input(name) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


def saved_states(location: str, files: Iterable[str]) -> dict[str, tuple[SavedState, ...]]:
    """The states that some written files hold, by operator; files of sources hold none."""
    found: dict[str, list[SavedState]] = {}
    for (uid, state), summary in sorted(summarize(location, _state_files(files)).items()):
        saved = SavedState(state, summary.recorded, summary.entries, summary.declared)
        found.setdefault(uid, []).append(saved)
    return {uid: tuple(states) for uid, states in found.items()}


def verify(savepoint: StoredSavepoint) -> None:
    """Read every file of a savepoint.

    Raises:
        SavepointError: one is missing, cut off or changed.
    """
    storage = Storage.open(savepoint.location)
    for name, expected in savepoint.files.items():
        if not storage.exists(name):
            raise _broken(savepoint.location, f"{name} is missing")
        size, digest = _checksum(storage, name)
        if size != expected[0]:
            raise _broken(savepoint.location, f"{name} has {size} bytes instead of {expected[0]}")
        if digest != expected[1]:
            raise _broken(savepoint.location, f"{name} does not match its checksum")


def list_savepoints(folder: str) -> list[StoredSavepoint]:
    """The savepoints directly in a folder, the oldest first; what is none is left out."""
    storage = Storage.open(folder)
    found = []
    for name in storage.folders(""):
        if storage.exists(f"{name}/{METADATA}"):
            found.append(read_savepoint(f"{folder.rstrip('/')}/{name}"))
    return sorted(found, key=lambda savepoint: savepoint.created_ms)


def delete_savepoint(location: str) -> None:
    """Remove a savepoint; refuses a directory that is none."""
    savepoint = read_savepoint(location)
    storage = Storage.open(location)
    storage.delete(METADATA)  # first: a half deleted savepoint must not look like a whole one
    for folder in (STATE_FOLDER, SOURCES_FOLDER):
        storage.delete_folder(folder)
    for name in savepoint.files:
        storage.delete(name)
    storage.delete_folder("")
