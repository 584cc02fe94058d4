"""How records choose their subtask: Flink's partitioners, applied to whole lists of records.

In: Records of a producer.  Out: (subtask, Records) pairs.  Next: runtime/exchange/outbox.py

Where records go follows from the batch, the producer and its input alone. A task that runs again,
because its executor was lost, may be in a process with another past, while a consumer has read what
its first run sent: were anything else to decide, records would be lost or come twice.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import cloudpickle
import numpy as np
import pyarrow as pa

from headrace.data.pickling import loads
from headrace.data.records import Records
from headrace.errors import InvalidArgumentError
from headrace.runtime.key_groups import hash_column, key_group_of, subtask_of
from headrace.runtime.operators.base import user_code_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from headrace.common.typeinfo import TypeInformation
    from headrace.runtime.key_selectors import Keying

    Routed = Iterable[tuple[int, Records]]

_KEY_CACHE_LIMIT = 200_000


class Partitioning(ABC):
    """Chooses the target subtask of each record; a copy per producing subtask is opened."""

    name: str = ""
    # whether records may go to another subtask: if not, producer and consumer can be chained
    exchanges: bool = True

    def open(self, subtask: int, parallelism: int, max_parallelism: int) -> None:
        """Called in the producing subtask; `parallelism` is that of the consumer."""
        self.subtask = subtask
        self.parallelism = parallelism
        self.max_parallelism = max_parallelism
        self.begin(0)

    def begin(self, batch_id: int) -> None:  # noqa: B027 - most have nothing to forget
        """A batch starts: forget everything about the batches before it."""

    def reads_a_column(self, record_type: TypeInformation) -> bool:
        """Whether records of a type are best routed as columns."""
        return False

    @abstractmethod
    def route(self, records: Records) -> Routed:
        """The records for each subtask, in order."""


class Forward(Partitioning):
    """Stays in the subtask.

    Args:
        explicit: the user asked for it with forward(), so nothing else may be put in its place.
    """

    name = "FORWARD"
    exchanges = False

    def __init__(self, *, explicit: bool = False) -> None:
        self.explicit = explicit

    def route(self, records: Records) -> Routed:
        return [(self.subtask % self.parallelism, records)]


class Global(Partitioning):
    """Everything to subtask 0."""

    name = "GLOBAL"

    def route(self, records: Records) -> Routed:
        return [(0, records)]


class Broadcast(Partitioning):
    """Everything to every subtask."""

    name = "BROADCAST"

    def route(self, records: Records) -> Routed:
        return [(target, records) for target in range(self.parallelism)]


class Rebalance(Partitioning):
    """Round robin over all subtasks; each producer and batch starts at another one."""

    name = "REBALANCE"

    def begin(self, batch_id: int) -> None:
        self.next_target = (self.subtask + batch_id) % self.parallelism

    def route(self, records: Records) -> Routed:
        count, width = len(records), self.parallelism
        if width == 1:
            return [(0, records)]
        first = self.next_target
        self.next_target = (first + count) % width
        return [
            ((first + offset) % width, _every_nth(records, offset, width))
            for offset in range(min(width, count))
        ]


class Rescale(Rebalance):
    """Round robin over a local group; with one level of slots that is all of them."""

    name = "RESCALE"

    def begin(self, batch_id: int) -> None:
        self.next_target = batch_id % self.parallelism


class Shuffle(Partitioning):
    """Uniformly at random; seeded by producer and batch, so that a retried task repeats itself."""

    name = "SHUFFLE"

    def begin(self, batch_id: int) -> None:
        self.random = random.Random(f"{self.subtask}/{batch_id}")

    def route(self, records: Records) -> Routed:
        if self.parallelism == 1:
            return [(0, records)]
        draw = self.random.randrange
        targets = np.array([draw(self.parallelism) for _ in range(len(records))], dtype=np.int64)
        return split(records, targets)


class Custom(Partitioning):
    """The user's Partitioner decides: ``partition(key, number_of_partitions) -> int``.

    One that counts starts again with every batch.
    """

    name = "CUSTOM"

    def __init__(self, partitioner: Callable[[Any, int], int], selector: Callable[[Any], Any]):
        self.partitioner = partitioner
        self.selector = selector

    def open(self, subtask: int, parallelism: int, max_parallelism: int) -> None:
        self._unused = cloudpickle.dumps((self.partitioner, self.selector))
        super().open(subtask, parallelism, max_parallelism)

    def begin(self, batch_id: int) -> None:
        self.partitioner, self.selector = loads(self._unused)

    def route(self, records: Records) -> Routed:
        targets = np.empty(len(records), dtype=np.int64)
        for number, value in enumerate(records.values):
            target = self._choose(value)
            if not 0 <= target < self.parallelism:
                raise InvalidArgumentError(
                    f"the partitioner returned {target!r} for {value!r:.100}, which is not one of "
                    f"the {self.parallelism} partitions",
                    fix="return an int from 0 up to, but not including, the number of partitions",
                )
            targets[number] = target
        return split(records, targets)

    def _choose(self, value: Any) -> int:
        try:
            return self.partitioner(self.selector(value), self.parallelism)
        except Exception as error:
            raise user_code_error(error, "the partitioner", value) from error


class KeyGroups(Partitioning):
    """To the subtask that owns the key's key group."""

    name = "HASH"

    def __init__(self, keying: Keying) -> None:
        self.keying = keying

    def open(self, subtask: int, parallelism: int, max_parallelism: int) -> None:
        super().open(subtask, parallelism, max_parallelism)
        self.known: dict[Any, int] = {}

    def reads_a_column(self, record_type: TypeInformation) -> bool:
        return self.keying.position(record_type) is not None

    def route(self, records: Records) -> Routed:
        if self.parallelism == 1:
            self._check(records)
            return [(0, records)]
        hashes = self.keying.hashes(records)
        if hashes is not None:
            groups = hashes % np.uint64(self.max_parallelism)
            targets = groups.astype(np.int64) * self.parallelism // self.max_parallelism
        else:
            targets = np.array(self._targets_of(self.keying.keys(records)), dtype=np.int64)
        return split(records, targets)

    def _check(self, records: Records) -> None:
        """With one subtask bad keys must fail here as well."""
        if self.keying.takes_all:
            return
        column = self.keying.column(records)
        if column is None:
            self._targets_of(self.keying.keys(records))
        elif pa.types.is_floating(column.type):
            hash_column(column)  # so must NaN

    def _targets_of(self, keys: list[Any]) -> list[int]:
        known = self.known
        if len(known) > _KEY_CACHE_LIMIT:
            known.clear()
        targets = []
        for key in keys:
            try:
                target = known.get(key)
            except TypeError:  # unhashable: key_group_of says what to do about it
                target = None
            if target is None:
                group = key_group_of(key, self.max_parallelism)
                target = known[key] = subtask_of(group, self.parallelism, self.max_parallelism)
            targets.append(target)
        return targets


def _every_nth(records: Records, first: int, step: int) -> Records:
    times = records.timestamps
    batch = records.batch
    if batch is not None:
        picked = batch.take(pa.array(np.arange(first, len(records), step)))
        return Records(
            timestamps=None if times is None else times[first::step],
            batch=picked,
            codec=records.codec,
        )
    return Records(records.values[first::step], None if times is None else times[first::step])


def split(records: Records, targets: NDArray[np.int64]) -> Routed:
    """Cut records into one list per target, keeping their order."""
    if len(targets) == 0:
        return
    present = np.unique(targets).tolist()
    if len(present) == 1:
        yield present[0], records
        return
    for target in present:
        chosen = np.flatnonzero(targets == target)
        yield target, records.pick(chosen)
