"""A sink that fails when it is told to, at a point of its work that it is told.

In: orders, one file each, in a folder (chaos/monkey.py writes them).  Out: an OSError at the point
that the order names; whoever meets an order first carries it out and removes it.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from headrace.datastream.connectors.sink import Committer, Sink, SinkWriter

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.datastream.connectors.sink import CommitterContext, WriterContext

# In the order of a batch. `commit torn`: after so many of the file operations of a commit.
POINTS = ("write", "prepare", "commit before", "commit torn", "commit after")


class Orders:
    """The orders to fail that nobody has carried out yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def give(self, name: str, point: str, after: int) -> None:
        """Tell the next one who passes a point to fail there."""
        draft = self.folder / f".{name}"
        draft.write_text(json.dumps({"point": point, "after": after}))
        draft.rename(self.folder / f"{name}.json")

    def fail_if_told(self, point: str) -> None:
        if self.take(point) is not None:
            raise OSError(f"the chaos monkey broke the sink: {point}")

    def take(self, point: str) -> int | None:
        """Take an order for a point; its number of operations to let pass."""
        for path in sorted(self.folder.glob("*.json")):
            try:
                order = json.loads(path.read_text())
                if order["point"] == point:
                    path.rename(path.with_suffix(f".taken-{os.getpid()}"))  # one taker only
                    return int(order["after"])
            except FileNotFoundError:
                continue
        return None


class FailingSink(Sink):
    """A sink under attack, of files or of Kafka."""

    def __init__(self, sink: Sink, orders: Orders) -> None:
        self._sink = sink
        self._orders = orders

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(self._sink.create_writer(context), self._orders)

    def create_committer(self, context: CommitterContext) -> Committer:
        return _Committer(self._sink.create_committer(context), self._orders)


class _Writer(SinkWriter):
    def __init__(self, writer: SinkWriter, orders: Orders) -> None:
        self._writer = writer
        self._orders = orders

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        half = len(values) // 2
        self._writer.write(values[:half], timestamps and timestamps[:half])
        self._orders.fail_if_told("write")
        self._writer.write(values[half:], timestamps and timestamps[half:])

    def prepare_commit(self) -> list[Any]:
        staged = self._writer.prepare_commit()
        self._orders.fail_if_told("prepare")
        return staged

    def abort(self) -> None:
        self._writer.abort()


class _Committer(Committer):
    def __init__(self, committer: Any, orders: Orders) -> None:
        self._committer = committer
        self._orders = orders
        # Kafka's committer keeps its decisions in a log, a file sink's holds the storage itself.
        owner = getattr(committer, "_log", committer)
        owner._storage = _TornStorage(owner._storage, orders)

    def begin(self) -> None:
        self._committer.begin()

    def commit(self, batch_id: int, committables: list[Any]) -> None:
        self._orders.fail_if_told("commit before")
        self._committer.commit(batch_id, committables)
        self._orders.fail_if_told("commit after")

    @property
    def holds_back(self) -> bool:
        return bool(self._committer.holds_back)

    def publish_held_back(self) -> None:
        self._committer.publish_held_back()

    def close(self) -> None:
        self._committer.close()


class _TornStorage:
    """Passes everything on; told to, it lets some changes of the folder through and then fails."""

    def __init__(self, storage: Any, orders: Orders) -> None:
        self._storage = storage
        self._orders = orders
        self._left: int | None = None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._storage, name)
        if name not in ("write_atomic", "move", "delete"):
            return found

        def change(*arguments: Any) -> Any:
            self._pass()
            return found(*arguments)

        return change

    def __str__(self) -> str:
        return str(self._storage)

    def _pass(self) -> None:
        if self._left is None:
            self._left = self._orders.take("commit torn")
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                self._left = None
                raise OSError("the chaos monkey broke the sink: commit torn")
