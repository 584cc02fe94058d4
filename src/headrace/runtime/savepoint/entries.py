"""Everything that the operators of a stage keep, entry by entry: state leaves a checkpoint so.

    store of a subtask ── export ──▶ SavedEntry(operator, state, key group, key, namespace, value)
                       ◀── load ───

In: a PageStore that also lists its names.  Out: entries with the key they belong to, so that they
can be given to any number of subtasks.  Next: runtime/savepoint/portable.py (values as bytes)
"""

from __future__ import annotations

import difflib
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.errors import StateError
from headrace.runtime.key_groups import key_group_of
from headrace.runtime.pages.large import LargeMap, LargeTable
from headrace.runtime.pages.table import NO_ENTRY
from headrace.runtime.state.recorded import Recorded, record_key, recorded_in
from headrace.runtime.timers import TimerQueue
from headrace.runtime.watermarks import store_clocks, stored_clocks
from headrace.runtime.windows.panes import Panes, index_key, stored_grid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from headrace.runtime.pages.store import PageStore
    from headrace.runtime.savepoint.spooled import SpooledStore

# The key groups of what every subtask has: broadcast state, and what states say of themselves.
EVERYWHERE, RECORDED = -1, -2
# The event time of an operator's inputs, which every old subtask had its own of.
WATERMARK = "watermark"
_TIMERS, _PANES, _BROADCAST = "timers/", "panes", "broadcast/"
_LOAD_AT_ONCE = 50_000
_PART_ITEMS = 10_000
# where the states of users are; behind windows there are more than those of the function itself
_USER_FOLDERS = (
    "user/", "broadcast/", "global-state/user/", "window-state/user/", "trigger/user/", "",
)  # fmt: skip


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
    # A list or map that is stored in parts leaves in parts: at which item this one begins.
    part: int | None = None


# --- out -----------------------------------------------------------------------------------------


def export(
    store: SpooledStore, max_parallelism: Mapping[str, int], only: str | None = None
) -> Iterator[SavedEntry]:
    """Every entry of a subtask, operator by operator and state by state.

    Args:
        store: the subtask's pages.
        max_parallelism: of every operator that may have state, by uid.
        only: the one state that is wanted; None for all.
    """
    for uid, state in _states(store, max_parallelism):
        if only not in (None, state):
            continue
        width = max_parallelism[uid]
        recorded = recorded_in(store, f"{uid}/{state}")
        if recorded is not None:
            yield SavedEntry(uid, state, RECORDED, None, None, asdict(recorded))
        for key, namespace, value, *part in _entries(store, uid, state):
            group = EVERYWHERE if state.startswith(_BROADCAST) else key_group_of(key, width)
            yield SavedEntry(uid, state, group, key, namespace, value, *part)
    if only is None:
        yield from _clocks(store, max_parallelism)


def _clocks(store: SpooledStore, uids: Iterable[str]) -> Iterator[SavedEntry]:
    """How far event time had come at the inputs of operators.

    Flink forgets this in a savepoint; here a window that has fired must not fire once more when a
    job goes on with another parallelism.
    """
    known = set(uids)
    for name, clock in stored_clocks(store).items():
        uid, _, number = name.rpartition(":")
        current = clock["current"]
        # after the end of time a job begins anew
        if uid in known and MIN_TIMESTAMP < current < MAX_TIMESTAMP:
            yield SavedEntry(uid, WATERMARK, EVERYWHERE, int(number), None, current)


def _states(store: SpooledStore, uids: Iterable[str]) -> list[tuple[str, str]]:
    """(operator, state) of everything in a store; what tasks keep for themselves is left out."""
    found: dict[tuple[str, str], None] = {}
    by_length = sorted(uids, key=len, reverse=True)  # one uid may begin with another
    for name in store:
        text = name.split(b"\0", 1)[0].decode()
        uid = next((uid for uid in by_length if text.startswith(f"{uid}/")), None)
        if uid is None:
            continue
        state = state_of_page(text.removeprefix(f"{uid}/"))
        if state is not None:
            found[uid, state] = None
    return list(found)


def state_of_page(path: str) -> str | None:
    """The state that a page belongs to, by the page's path within its operator."""
    if path == "generator":
        return None  # a watermark generator starts anew, as in Flink
    if path.startswith(_TIMERS):
        return "/".join(path.split("/")[:2])
    return _PANES if path.startswith(f"{_PANES}/") else path


def _entries(store: SpooledStore, uid: str, state: str) -> Iterator[tuple[Any, ...]]:
    name = f"{uid}/{state}"
    if state.startswith(_TIMERS):
        for timestamp, key, namespace in TimerQueue(store, name).scan():
            yield key, (timestamp, namespace), None
    elif state == _PANES:
        yield from _panes(store, name)
    elif _is_paired(state):
        for (key, namespace), *value in _contents(store, name):
            yield key, namespace, *value
    else:
        for key, *value in _contents(store, name):
            yield key, None, *value


def _contents(store: SpooledStore, name: str) -> Iterator[tuple[Any, ...]]:
    """(key, value) of a table; (key, part of the value, where it begins) of what is in parts."""
    table = LargeTable(store, name)
    if not _has_parts(store, table.prefix):
        yield from table.scan()
        return
    for key, value in table.scan():
        if type(value) is not tuple:
            yield key, value
            continue
        parts = table.parts(table.cell(key))
        whole = parts.entries.scan() if isinstance(parts, LargeMap) else iter(parts)
        begin = 0
        while items := list(islice(whole, _PART_ITEMS)):
            yield key, (dict(items) if isinstance(parts, LargeMap) else items), begin
            begin += len(items)
        parts.forget()


def _has_parts(store: SpooledStore, prefix: bytes) -> bool:
    """Whether a table is one of lists or maps, some of which are in parts.

    In other tables a tuple is a value of the user's and not a marker.
    """
    return any(name.startswith((prefix + b"m", prefix + b"l")) for name in store)


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
        if entry.key_group == RECORDED:
            name = f"{entry.operator}/{entry.state}"
            store.put(record_key(name), Recorded(**entry.value).to_bytes())
            continue
        target = targets.get(place)
        if target is None:
            target = targets[place] = _target(store, *place)
        if entry.part is not None:
            target.add(entry.key, entry.namespace, entry.value)
        else:
            target.put(entry.key, entry.namespace, entry.value)
        count += 1
        if count % _LOAD_AT_ONCE == 0:
            for each in targets.values():
                each.flush()
    for each in targets.values():
        each.flush()
    return count


def _refuse_part(key: Any, namespace: Any, value: Any) -> None:
    raise StateError("the savepoint holds parts of something that is no list and no map")


class _Target(NamedTuple):
    put: Callable[[Any, Any, Any], None]
    flush: Callable[[], None]
    # add the next part of a list or map
    add: Callable[[Any, Any, Any], None] = _refuse_part


class _GrowingTable(LargeTable):
    """A table that takes those lists and maps apart that came in parts.

    Others may be values of a value state, which have to stay whole.
    """

    def _reset(self) -> None:
        super()._reset()
        self._grown: set[int] = set()

    def add(self, key: Any, part: Any) -> None:
        """Add a part to what is there."""
        cell = self.cell(key)
        content = cell.value
        if content is NO_ENTRY:
            content = cell.value = part
        elif type(content) is tuple:
            parts = self.parts(cell)
            if isinstance(part, dict):
                for each, value in part.items():
                    parts.entries.put(each, value)
            else:
                parts.extend(part)
            return
        elif isinstance(part, dict):
            content.update(part)
        else:
            content.extend(part)
        self._grown.add(id(content))
        if cell.clean:
            self.touch(cell)

    def _is_large(self, content: Any) -> bool:
        return id(content) in self._grown and super()._is_large(content)

    def flush(self) -> None:
        """Write what changed."""
        super().flush()
        self._grown.clear()


def _clock_target(store: PageStore, uid: str) -> _Target:
    """Event time begins where the last of the old subtasks was."""
    slowest: dict[int, int] = {}

    def put(number: int, _: Any, watermark: int) -> None:
        slowest[number] = min(watermark, slowest.get(number, watermark))

    def flush() -> None:
        clocks = stored_clocks(store)
        clocks.update({f"{uid}:{number}": {"current": time} for number, time in slowest.items()})
        store_clocks(store, clocks)

    return _Target(put, flush)


def _target(store: PageStore, uid: str, state: str) -> _Target:
    name = f"{uid}/{state}"
    if state == WATERMARK:
        return _clock_target(store, uid)
    if state.startswith(_TIMERS):
        timers = TimerQueue(store, name)
        return _Target(lambda key, at, _: timers.register(at[0], key, at[1]), timers.flush)
    if state == _PANES:
        return _pane_target(store, name)
    table = _GrowingTable(store, name)
    if _is_paired(state):
        return _Target(
            lambda key, namespace, value: table.put((key, namespace), value),
            table.flush,
            lambda key, namespace, part: table.add((key, namespace), part),
        )
    return _Target(
        lambda key, _, value: table.put(key, value),
        table.flush,
        lambda key, _, part: table.add(key, part),
    )


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
    for folder in _USER_FOLDERS:
        if f"{folder}{wanted}" in known:
            return f"{folder}{wanted}"
    short = {name.rpartition("/")[2]: name for name in known} | {name: name for name in known}
    near = difflib.get_close_matches(wanted, short, n=1)
    raise StateError(
        f"operator {uid!r} has no state {wanted!r}",
        fix=(f"did you mean {near[0]!r}? " if near else "")
        + f"its states are {', '.join(known) or 'none'}",
    )
