"""states.json in a job's directory: which states its operators have stored, with kinds and types.

    task: first page of a state ─▶ message of the batch ─▶ states.json, then the batch is committed

Only Spark can look into a checkpoint, and it takes ten seconds to start; a name that is wrong is
told by this file at once.  It is there from the beginning of a directory, so it names all that is
stored; a directory of an earlier version has none, and gets none.
In: messages, which follow from what operators declare (runtime/state/kept.py).  Out: names for
state.py
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.io.storage import Storage

FILE = "states.json"
_FORMAT = 1

# operator -> state -> what it says of itself, as runtime/state/recorded.py has it; may be empty
States = dict[str, dict[str, dict[str, Any]]]


class StateNames:
    """The file of one job's directory; written by the job, read by anybody."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._known: States | None = None

    def begin(self, states: Mapping[str, Mapping[str, dict[str, Any]]]) -> None:
        """A new directory, which holds these states."""
        self._write({uid: dict(names) for uid, names in states.items()})

    def read(self) -> States | None:
        """All states of the checkpoint beside the file; None if that is not known."""
        if not self._storage.exists(FILE):
            return None
        content = json.loads(self._storage.read(FILE))
        if content["format"] != _FORMAT:
            return None  # of a later version: Spark can still be asked
        operators: States = content["operators"]
        return operators

    def add(self, found: States) -> None:
        """States that a batch has stored; the file is written if one of them is new or changed."""
        if not found:
            return
        if self._known is None:
            self._known = self.read()
            if self._known is None:
                return  # not from the beginning, so never complete
        merged = {uid: dict(names) for uid, names in self._known.items()}
        for uid, names in found.items():
            mine = merged.setdefault(uid, {})
            mine.update({name: said or mine.get(name, {}) for name, said in names.items()})
        if merged != self._known:
            self._write(merged)

    def _write(self, states: States) -> None:
        content = {"format": _FORMAT, "operators": states}
        self._storage.write_atomic(FILE, json.dumps(content, indent=1, sort_keys=True).encode())
        self._known = states
