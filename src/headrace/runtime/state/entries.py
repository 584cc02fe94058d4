"""Everything that the operators of a stage keep, entry by entry: state leaves a checkpoint so.

    store of a subtask ── export ──▶ SavedEntry(operator, state, key group, key, namespace, value)
                       ◀── load ───

In: a PageStore that also lists its names.  Out: entries with the key they belong to, so that they
can be given to any number of subtasks.  Next: runtime/state/portable.py (values as bytes)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import StateError
from headrace.runtime.key_groups import key_group_of
from headrace.runtime.state.pages import PagedTable
from headrace.runtime.timers import TimerQueue
from headrace.runtime.windows.panes import Panes, index_key, stored_grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headrace.runtime.state.backend import PageStore
    from headrace.runtime.state.spooled import SpooledStore

# The key group of what every subtask has: broadcast state.
EVERYWHERE = -1
_TIMERS, _PANES, _BROADCAST = "timers/", "panes", "broadcast/"
_LOAD_AT_ONCE = 50_000


class SavedEntry(NamedTuple):
    """One entry of one state of one key.

    `namespace` is what a key has several entries for: a window, a bucket of time, or, for timers,
    the timestamp and the namespace that the timer was set in.
    """

    operator: str
    state: str
    key_group: int
    key: Any
    namespace: Any
    value: Any


# --- out -----------------------------------------------------------------------------------------


def export(store: SpooledStore, max_parallelism: Mapping[str, int]) -> Iterator[SavedEntry]:
    """Every entry of a subtask, operator by operator and state by state.

    Args:
        store: the subtask's pages.
        max_parallelism: of every operator that may have state, by uid.
    """
    for uid, state in _states(store, max_parallelism):
        width = max_parallelism[uid]
        for key, namespace, value in _entries(store, uid, state):
            group = EVERYWHERE if state.startswith(_BROADCAST) else key_group_of(key, width)
            yield SavedEntry(uid, state, group, key, namespace, value)


def _states(store: SpooledStore, uids: Iterable[str]) -> list[tuple[str, str]]:
    """(operator, state) of everything in a store; what tasks keep for themselves is left out."""
    found: dict[tuple[str, str], None] = {}
    by_length = sorted(uids, key=len, reverse=True)  # one uid may begin with another
    for name in store:
        text = name.split(b"\0", 1)[0].decode()
        uid = next((uid for uid in by_length if text.startswith(f"{uid}/")), None)
        if uid is None:
            continue
        state = _state_of(text.removeprefix(f"{uid}/"))
        if state is not None:
            found[uid, state] = None
    return list(found)


def _state_of(path: str) -> str | None:
    if path == "generator":
        return None  # a watermark generator starts anew, as in Flink
    if path.startswith(_TIMERS):
        return "/".join(path.split("/")[:2])
    return _PANES if path.startswith(f"{_PANES}/") else path


def _entries(store: PageStore, uid: str, state: str) -> Iterator[tuple[Any, Any, Any]]:
    name = f"{uid}/{state}"
    if state.startswith(_TIMERS):
        for timestamp, key, namespace in TimerQueue(store, name).scan():
            yield key, (timestamp, namespace), None
    elif state == _PANES:
        yield from _panes(store, name)
    elif _is_paired(state):
        for (key, namespace), value in PagedTable(store, name).scan():
            yield key, namespace, value
    else:
        for key, value in PagedTable(store, name).scan():
            yield key, None, value


def _is_paired(state: str) -> bool:
    """Whether a table has several entries for a key, one for each window or stretch of time."""
    return (
        state == "contents"
        or state.startswith(("trigger/", "window-state/"))
        or (state.endswith("-records") and "/" not in state)
    )


def _panes(store: PageStore, name: str) -> Iterator[tuple[Any, Any, Any]]:
    content = store.get(index_key(name))
    if content is None:
        return
    grid = stored_grid(content)
    panes = Panes(store, name, grid)
    for start in panes.starts():
        pane = panes.live[start]
        for key, value in pane.contents().items():
            yield key, (start, *grid), value
        pane.release()


# --- back ----------------------------------------------------------------------------------------


def load(store: PageStore, entries: Iterable[SavedEntry]) -> int:
    """Put entries into the store of a subtask; how many there were."""
    targets: dict[tuple[str, str], _Target] = {}
    count = 0
    for entry in entries:
        place = (entry.operator, entry.state)
        target = targets.get(place)
        if target is None:
            target = targets[place] = _target(store, *place)
        target.put(entry.key, entry.namespace, entry.value)
        count += 1
        if count % _LOAD_AT_ONCE == 0:
            for each in targets.values():
                each.flush()
    for each in targets.values():
        each.flush()
    return count


class _Target(NamedTuple):
    put: Callable[[Any, Any, Any], None]
    flush: Callable[[], None]


def _target(store: PageStore, uid: str, state: str) -> _Target:
    name = f"{uid}/{state}"
    if state.startswith(_TIMERS):
        timers = TimerQueue(store, name)
        return _Target(lambda key, at, _: timers.register(at[0], key, at[1]), timers.flush)
    if state == _PANES:
        return _pane_target(store, name)
    table = PagedTable(store, name)
    if _is_paired(state):
        return _Target(
            lambda key, namespace, value: table.put((key, namespace), value), table.flush
        )
    return _Target(lambda key, _, value: table.put(key, value), table.flush)


def _pane_target(store: PageStore, name: str) -> _Target:
    opened: list[Panes] = []

    def put(key: Any, place: tuple[int, int, int, int], value: Any) -> None:
        if not opened:
            opened.append(Panes(store, name, (place[1], place[2], place[3])))
        opened[0].open(place[0]).entries[key] = value

    def flush() -> None:
        for panes in opened:
            panes.flush(_END_OF_TIME)

    return _Target(put, flush)


_END_OF_TIME = 1 << 62


def check_state_name(uid: str, names: Iterable[str], wanted: str) -> str:
    """The path of a user's state by its name.

    Raises:
        StateError: there is no such state; says which there are.
    """
    known = sorted(names)
    for path in (f"user/{wanted}", f"broadcast/{wanted}", wanted):
        if path in known:
            return path
    raise StateError(
        f"operator {uid!r} has no state {wanted!r}",
        fix=f"its states are {', '.join(known) or 'none'}",
    )
