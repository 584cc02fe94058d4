"""Clears away the state of batches that nobody will ask for, sooner than Spark does.

    state/n/m/    of subtask m        V.zip         a snapshot: the state as version V has it,
    V.changelog   what V changed                    by the names of its files in SSTs/

Spark counts the batches it retains back from the newest *snapshot*; so it keeps two snapshots and
all changes since the older.  Here they are counted back from the newest *committed batch*.  Behind
batch N lies version N + 1: it is read from the newest snapshot that is not newer, and the changes
since.  docs/decisions/0017-state-is-cleared-by-commits.md says why no file goes that Spark may use.

In: the location of a checkpoint.  Out: fewer files.  Next: hosts/spark/host.py, which starts it
"""

from __future__ import annotations

import io
import json
import logging
import re
import threading
import zipfile
from functools import partial
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.hosts.spark.state.checkpoint_files import last_batch, subtasks
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

log = logging.getLogger(__name__)

# What is past stays for two rounds: whoever begins to read a batch, such as a command in another
# process, has at least ten seconds to take hold of its files.
ROUND_S = 5.0
_ROUNDS = 2
_SNAPSHOT = re.compile(r"(\d+)\.zip")
_CHANGES = re.compile(r"(\d+)\.changelog")
_METADATA = "metadata"
_METADATA_FORM = "v1"
# where Spark puts the files of a snapshot, by the field of its metadata that lists them
_LISTED = {"sstFiles": ("SSTs", "dfsSstFileName"), "logFiles": ("logs", "dfsLogFileName")}


def past_files(
    names: Iterable[str], needed: int, files_of: Callable[[str], frozenset[str]]
) -> list[str]:
    """The files of one subtask that no version from the needed one on is read from.

    Args:
        names: of all files directly in its folder.
        needed: the oldest version that somebody may still ask for.
        files_of: the files that a snapshot lists, by the snapshot's name.

    Returns:
        In the order in which they may be deleted: while the name of a snapshot is there its other
        files can be found, so a round that is broken off is made up for by the next.
    """
    names = list(names)
    snapshots = _versions(_SNAPSHOT, names)
    if len(snapshots) < sum(name.endswith(".zip") for name in names):
        return []  # others are named in a form of Spark's that is not known here
    floor = max((version for version in snapshots if version <= needed), default=0)
    old = [name for version, name in snapshots.items() if version < floor]
    if not old:
        return []
    kept = _all_files(files_of, (name for v, name in snapshots.items() if v >= floor))
    changes = [name for v, name in _versions(_CHANGES, names).items() if v < floor]
    return [*changes, *sorted(_all_files(files_of, old) - kept), *old]


def _versions(form: re.Pattern[str], names: Iterable[str]) -> dict[int, str]:
    return {int(found[1]): name for name in names if (found := form.fullmatch(name))}


def _all_files(files_of: Callable[[str], frozenset[str]], names: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*(files_of(name) for name in names))


def files_in(snapshot: bytes) -> frozenset[str]:
    """The files that a snapshot lists, relative to the folder it lies in.

    Raises:
        ValueError: it is not in a form that is known here.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(snapshot)) as archive:
            form, _, content = archive.read(_METADATA).decode().partition("\n")
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(f"no snapshot of Spark's: {error}") from error
    if form != _METADATA_FORM:
        raise ValueError(f"a snapshot in Spark's form {form!r}")
    listed = json.loads(content)
    return frozenset(
        f"{folder}/{file[field]}"
        for files, (folder, field) in _LISTED.items()
        for file in listed.get(files) or ()
    )


class Clearing:
    """Rounds over one checkpoint.

    Args:
        checkpoint: of a query; nothing but this process writes there.
        retained: how many batches beside the newest committed one stay readable; at least one, in
            case the mark of the newest is lost with the power of the machine.
        reading: held while somebody in this process reads a batch; no file goes meanwhile.
    """

    def __init__(self, checkpoint: str, retained: int, reading: threading.Lock) -> None:
        self._checkpoint = checkpoint
        self._storage = Storage.open(checkpoint)
        self._retained = retained
        self._reading = reading
        self._found: dict[str, int] = {}  # what is past, and for how many rounds
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Have a round every few seconds from now on."""
        self._thread = threading.Thread(target=self._run, name="headrace-clearing", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """No more rounds; one that is under way ends first."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(ROUND_S):
            try:
                self.round()
            except (HeadraceError, OSError, ValueError) as error:
                # Spark keeps more than is needed then, and says what is wrong with the disk itself
                log.info("state of past batches stays for now: %s", error)

    def round(self) -> None:
        """Delete what has been past for long enough, and look for more."""
        if not self._reading.acquire(blocking=False):
            return
        try:
            past = self._past()
            due = [path for path in past if self._found.get(path) == _ROUNDS]
            for path in due:
                self._delete(path)
            stays = set(past).difference(due)
            self._found = {path: self._found.get(path, 0) + 1 for path in stays}
        finally:
            self._reading.release()

    def _past(self) -> list[str]:
        committed = last_batch(self._checkpoint)
        if committed is None:
            return []
        needed = committed + 1 - self._retained
        found = []
        for operator, subtask in subtasks(self._checkpoint):
            folder = f"state/{operator}/{subtask}"
            names = [file.name for file in self._storage.list(folder)]
            past = past_files(names, needed, partial(self._files_of, folder))
            found += [f"{folder}/{path}" for path in past]
        return found

    def _files_of(self, folder: str, snapshot: str) -> frozenset[str]:
        return files_in(self._storage.read(f"{folder}/{snapshot}"))

    def _delete(self, path: str) -> None:
        folder, _, name = path.rpartition("/")
        self._storage.delete(f"{folder}/.{name}.crc")  # Hadoop's checksum
        self._storage.delete(path)
