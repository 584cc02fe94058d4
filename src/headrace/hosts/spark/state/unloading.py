"""What Spark holds of a run's state in this process, let go of when the run has ended.

Spark stores a snapshot some time after its batch, also when the run has ended meanwhile.  That of
a failed batch would be taken for the one of the batch repeated by the next run.

In: the stores of a run.  Out: nothing of them will be stored any more.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from py4j.java_gateway import JavaObject, JVMView

_DEFAULT_STORE = "default"  # as Spark calls it: operators of headrace's have no other
_LOOK_S = 0.01


class LoadedState:
    """The state that Spark's tasks and its maintenance hold in this process.

    Closing a store, as Spark offers it, does not wait for its maintenance: a snapshot that is being
    written then still appears.  So this waits, and finds the stores also where Spark has put those
    that it will close itself, after it has stored them.
    """

    def __init__(self, jvm: JVMView) -> None:
        self._classes = jvm.org.apache.spark.sql.execution.streaming.state
        self._stores = getattr(getattr(self._classes, "StateStore$"), "MODULE$")
        self._loaded = self._private("loadedProviders")
        self._to_be_closed = self._private("unloadedProvidersToClose")
        self._being_stored = self._private("snapshotPartitions")

    def _private(self, name: str) -> JavaObject:
        field = self._stores.getClass().getDeclaredField(name)
        field.setAccessible(True)
        return field.get(self._stores)

    def unload(self, location: str, run: JavaObject, subtasks: Iterable[tuple[int, int]]) -> None:
        """Let go of all stores of a run; waits for tasks and for maintenance that use them.

        Args:
            location: of state in the run's checkpoint, as Spark writes it.
            run: Spark's id of the run, which has been stopped.
            subtasks: (number of Spark's stateful operator, subtask), of all stores.
        """
        for operator, subtask in subtasks:
            store = self._classes.StateStoreId(location, operator, subtask, _DEFAULT_STORE)
            self._unload(self._classes.StateStoreProviderId(store, run))

    def _unload(self, store: JavaObject) -> None:
        while self._stores.isLoaded(store) or self._is_elsewhere(store):
            for provider in self._providers(store):
                provider.setUnloaded()  # maintenance that has not begun leaves it alone
                while provider.maintenanceLock().getReadLockCount() > 0:
                    time.sleep(_LOOK_S)
                provider.close()
            self._stores.removeFromLoadedProvidersAndClose(store)
            time.sleep(_LOOK_S)

    def _is_elsewhere(self, store: JavaObject) -> bool:
        return bool(self._being_stored.contains(store)) or any(self._waiting(store))

    def _providers(self, store: JavaObject) -> Iterator[JavaObject]:
        loaded = self._loaded.get(store)
        if not loaded.isEmpty():
            yield loaded.get()
        yield from self._waiting(store)

    def _waiting(self, store: JavaObject) -> Iterator[JavaObject]:
        for entry in self._to_be_closed.toArray():
            if entry._1().equals(store) and not entry._2().unloaded():
                yield entry._2()
