"""What Spark keeps in a query's checkpoint, read and changed as files.

    commits/N   batch N is done        offsets/N   v1, a line of settings, then a line a source
    state/n/    of stateful operator n, which is a stage of the job

In: the location of a checkpoint.  Out: batches, offsets, numbers.  Next: control/snapshot.py,
control/restore.py
"""

from __future__ import annotations

import re

from headrace.errors import StateError
from headrace.io.storage import Storage

_NO_OFFSET = "-"
# of a file of state, or of its checksum
_VERSION = re.compile(r"\.?(\d+)[._]")


def last_batch(checkpoint: str) -> int | None:
    """The newest batch that is committed; None before the first."""
    names = [file.name for file in Storage.open(checkpoint).list("commits")]
    return max((int(name) for name in names if name.isdigit()), default=None)


def stateful_operators(checkpoint: str) -> list[int]:
    """The numbers of Spark's stateful operators in a checkpoint: one for each stage."""
    return sorted(int(name) for name in Storage.open(checkpoint).folders("state") if name.isdigit())


def subtasks(checkpoint: str) -> list[tuple[int, int]]:
    """(number of Spark's stateful operator, subtask) for all that has a folder of state."""
    storage = Storage.open(checkpoint)
    return [
        (operator, int(name))
        for operator in stateful_operators(checkpoint)
        for name in storage.folders(f"state/{operator}")
        if name.isdigit()
    ]


def read_offsets(checkpoint: str, batch_id: int) -> list[str | None]:
    """Where every source of a query was after a batch, as Spark's JSON."""
    lines = Storage.open(checkpoint).read(f"offsets/{batch_id}").decode().split("\n")
    return [None if line == _NO_OFFSET else line for line in lines[2:]]


def forget_uncommitted_state(checkpoint: str) -> None:
    """Remove what batches that were never committed have stored.

    A task whose function raised has told the driver and ends well for Spark, which stores a version
    of the state without its changes. The repeated batch stores that version again, and the way in
    which checkpoint files of this machine are written (session.py) keeps the file that is there.

    Args:
        checkpoint: of a query that is not running.
    """
    storage = Storage.open(checkpoint)
    committed = last_batch(checkpoint)
    newest = 0 if committed is None else committed + 1
    for operator, subtask in subtasks(checkpoint):
        folder = f"state/{operator}/{subtask}"
        for file in storage.list(folder):
            version = _VERSION.match(file.name)
            if version is not None and int(version[1]) > newest:
                storage.delete(f"{folder}/{file.name}")


def replace_offsets(checkpoint: str, offsets: list[str | None]) -> None:
    """Replace where batch 0 came from by other places, of other sources.

    Args:
        checkpoint: one with a single batch, such as `seed_state` makes.
        offsets: for every source of the query that will go on, in its order, Spark's offset as
            JSON; None for a source that starts at its beginning.
    """
    storage = Storage.open(checkpoint)
    lines = storage.read("offsets/0").decode().split("\n")
    if lines[0] != "v1":
        raise StateError(
            f"Spark wrote its offsets in form {lines[0]!r}, which this version does not know"
        )
    kept = [*lines[:2], *(_NO_OFFSET if offset is None else offset for offset in offsets)]
    storage.write_atomic("offsets/0", "\n".join(kept).encode())
    storage.delete("offsets/.0.crc")  # of the old content
    storage.delete_folder("sources")
