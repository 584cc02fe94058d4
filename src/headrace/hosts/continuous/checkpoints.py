"""What a continuous job has stored: into a savepoint, and out of one.

In: epochs and segments of state.  Out: entries in a savepoint's directory, or an epoch 0 that a run
begins with.  Savepoints are the same for all hosts.  Next: hosts/continuous/epochs.py
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING

from headrace.hosts.continuous.epochs import Epoch, Epochs, state_folder
from headrace.hosts.continuous.segments import Segments, SegmentStore
from headrace.hosts.local.positions import restored_positions, save_positions
from headrace.runtime.savepoint.entries import export
from headrace.runtime.savepoint.files import write_rows
from headrace.runtime.task import VERSION_KEY
from headrace.spi.host import SourcePosition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.hosts.continuous.epochs import TaskPlace
    from headrace.plan.physical import PhysicalPlan
    from headrace.spi.host import Beginning


class SegmentCheckpoints:
    """The epochs of a job.

    Args:
        plan: the program; None for who only looks at state, and has no program.
        directory: of the job.
    """

    def __init__(self, plan: PhysicalPlan | None, directory: str) -> None:
        self._plan = plan
        self._directory = directory
        self._epochs = Epochs(directory)

    def last_epoch(self) -> int | None:
        """The newest epoch that counts."""
        return self._epochs.last()

    def save(
        self, epoch: int, location: str, max_parallelism: Mapping[str, int]
    ) -> list[SourcePosition]:
        """Write entries as Parquet; where the sources were."""
        stored = self._epochs.read(epoch)
        for place, names in stored.state.items():
            store = self._store(place, names)
            try:
                rows = export(store, max_parallelism)
                write_rows(location, f"stage-{place[0]}-{place[1]}", rows)
            finally:
                store.close()
        if self._plan is None:
            return [SourcePosition((json.dumps(position),)) for position in stored.positions]
        return save_positions(self._plan, stored.positions, location)

    def _store(self, place: TaskPlace, names: list[str]) -> SegmentStore:
        folder = state_folder(self._directory, place)
        return SegmentStore(Segments(folder, f"{folder}.read"), names)

    def begin_with(self, beginning: Beginning) -> None:
        """Fill an epoch with a savepoint's state and places."""
        assert self._plan is not None
        self._epochs.delete_all()
        state: dict[TaskPlace, list[str]] = {}
        attempt = uuid.uuid4().hex[:12]
        for number, stage in enumerate(self._plan.stages):
            for subtask in range(self._plan.slots):
                place = (stage.level, subtask)
                store = self._store(place, [])
                store.begin_epoch(0, attempt)
                beginning.load(number, subtask, store)
                # without a version a task would believe that there is nothing to read
                store.put(VERSION_KEY, b"restored")
                state[place] = store.secure(store.end_epoch())
                store.close()
        positions = restored_positions(self._plan, beginning)
        self._epochs.write(Epoch(0, positions, state), None)
