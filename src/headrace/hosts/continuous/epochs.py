"""What survives of a continuous job: one file for each epoch that counts.

    epochs/0000000007.results   what its tasks told the driver, committables included
    epochs/0000000007.json      its segments of state and the positions of its sources, written last
    epochs/0000000007.done      its sinks have committed

An epoch counts as soon as its ``.json`` is there.  Without ``.done`` its committables are handed to
the sinks once more, before anything else: by epoch number they take effect once.  Next:
hosts/continuous/coordinator.py writes them, hosts/continuous/checkpoints.py makes savepoints of
them
"""

from __future__ import annotations

import contextlib
import json
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import ConnectorError, StateError
from headrace.io.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.common.opaque import JsonValue
    from headrace.spi.host import EpochResults

__all__ = ["FOLDER", "Epoch", "Epochs", "TaskPlace", "state_folder"]

# in the directory of the job
FOLDER = "continuous"
_EPOCHS, _STATE = "epochs", "state"
# (level of the stage, subtask)
TaskPlace = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch that counts.

    Attributes:
        number: grows by one.
        positions: where every source of the plan was read to.
        state: the segments of every subtask that keeps state.
    """

    number: int
    positions: list[JsonValue]
    state: dict[TaskPlace, list[str]]


def state_folder(directory: str, place: TaskPlace) -> str:
    """Where the segments of a subtask are."""
    return f"{directory}/{FOLDER}/{_STATE}/{place[0]}-{place[1]}"


class Epochs:
    """The epochs of one job.

    Args:
        directory: of the job.
        retained: how many stay beside the newest one.
    """

    def __init__(self, directory: str, retained: int = 1) -> None:
        self._directory = directory
        self._storage = Storage.open(f"{directory}/{FOLDER}")
        self._retained = max(1, retained)

    # --- reading ---------------------------------------------------------------------------------

    def numbers(self) -> list[int]:
        """Those that count, in order."""
        names = [file.name for file in self._storage.list(_EPOCHS)]
        return sorted(int(name.removesuffix(".json")) for name in names if name.endswith(".json"))

    def last(self) -> int | None:
        """The newest one that counts."""
        return max(self.numbers(), default=None)

    def read(self, number: int) -> Epoch:
        """What an epoch left.

        Raises:
            ConnectorError: it is not there any more.
        """
        path = _file(number, "json")
        try:
            stored = json.loads(self._storage.read(path))
            return Epoch(
                number,
                stored["positions"],
                {_place(name): list(files) for name, files in stored["state"].items()},
            )
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(
                f"epoch {number} of the checkpoint cannot be read: {error}",
                where=f"{self._storage}/{path}",
                # the sinks may have taken it: whoever went back would write its number for nothing
                fix="bring the file back as it was written, or start from a savepoint",
            ) from error

    def is_done(self, number: int) -> bool:
        """Whether its sinks have committed."""
        return self._storage.exists(_file(number, "done"))

    def results(self, number: int) -> EpochResults:
        """What its tasks told the driver."""
        found: EpochResults = pickle.loads(self._storage.read(_file(number, "results")))
        if not hasattr(found, "tasks"):  # written before tasks told where their time went
            found.tasks = []
        return found

    # --- writing ---------------------------------------------------------------------------------

    def write(self, epoch: Epoch, results: EpochResults | None) -> None:
        """From now on the epoch counts.

        Args:
            epoch: what it left.
            results: for its sinks; None if it has none to commit.
        """
        number = epoch.number
        if results is None:
            self.finish(number)
        else:
            self._storage.write_atomic(_file(number, "results"), pickle.dumps(results, 5))
        content = {
            "positions": epoch.positions,
            "state": {f"{a}-{b}": names for (a, b), names in sorted(epoch.state.items())},
        }
        self._storage.write_atomic(_file(number, "json"), json.dumps(content).encode())

    def finish(self, number: int) -> None:
        """The sinks of an epoch have committed."""
        self._storage.write_atomic(_file(number, "done"), b"")

    def clear(self) -> None:
        """Remove epochs beyond those retained, and the state that only they have.

        What tasks are writing is in no epoch yet, so it stays. What cannot be removed now is found
        when the next run begins.
        """
        numbers = self.numbers()
        gone = numbers[: -self._retained - 1]
        with contextlib.suppress(ConnectorError):
            needed = self._files(numbers[len(gone) :])
            for path in self._files(gone) - needed:
                self._storage.delete(path)
            for number in gone:
                for ending in ("json", "done", "results"):
                    self._storage.delete(_file(number, ending))

    def _files(self, numbers: Iterable[int]) -> set[str]:
        """The segments of some epochs."""
        return {
            f"{_STATE}/{level}-{subtask}/{name}"
            for number in numbers
            for (level, subtask), names in self.read(number).state.items()
            for name in names
        }

    def forget_unfinished(self) -> None:
        """A run begins: what runs before it left, and no epoch has, goes."""
        needed = self._files(self.numbers())
        for folder in self._storage.folders(_STATE):
            for file in self._storage.list(f"{_STATE}/{folder}"):
                path = f"{_STATE}/{folder}/{file.name}"
                if path not in needed:
                    self._storage.delete(path)

    def delete_all(self) -> None:
        """Forget the job."""
        self._storage.delete_folder("")


def _file(number: int, ending: str) -> str:
    return f"{_EPOCHS}/{number:010d}.{ending}"


def _place(name: str) -> TaskPlace:
    level, _, subtask = name.partition("-")
    return int(level), int(subtask)


def ordered(positions: Sequence[JsonValue]) -> list[JsonValue]:
    """Positions as they are compared: as JSON gives them back."""
    found: list[JsonValue] = json.loads(json.dumps(list(positions), sort_keys=True))
    return found
