"""Everything that the operators of a stage keep, entry by entry: state leaves a checkpoint so.

    store of a subtask ── export ──▶ SavedEntry(operator, state, key group, key, namespace, value)
                       ◀── load ───

In: a PageStore that also lists its names, and says which states it holds in which layouts
(runtime/state/declared.py).  Out: entries with the key they belong to, so that they can be given to
any number of subtasks.  How a layout is read and written is its own affair (spi/state.py).
Next: runtime/savepoint/portable.py (values as bytes)
"""

from __future__ import annotations

import difflib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.errors import StateError
from headrace.runtime.key_groups import key_group_of
from headrace.runtime.state.declared import DeclaredStates, spec_from_json, spec_to_json
from headrace.runtime.state.layouts import layout_of
from headrace.runtime.state.names_of_0_1 import spec_in_0_1
from headrace.runtime.state.recorded import Recorded, record_key, recorded_in
from headrace.runtime.state.size import SizedStore, store_sizes
from headrace.spi.state import CLOCK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from headrace.runtime.pages.store import PageStore
    from headrace.spi.state import ListedPages, StateSpec, Target

# The key groups of what every subtask has: broadcast state; and what states say of themselves:
# their kind and types, their layout.
EVERYWHERE, RECORDED, DECLARED = -1, -2, -3
# The event time of an operator's inputs, which every old subtask had its own of.
WATERMARK = CLOCK.name
_LOAD_AT_ONCE = 50_000
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

    @property
    def is_description(self) -> bool:
        """Whether it is no entry of the state, but tells of it."""
        return self.key_group in (RECORDED, DECLARED)


# --- out -----------------------------------------------------------------------------------------


def export(
    store: ListedPages, max_parallelism: Mapping[str, int], only: str | None = None
) -> Iterator[SavedEntry]:
    """Every entry of a subtask, operator by operator and state by state.

    Args:
        store: the subtask's pages.
        max_parallelism: of every operator that may have state, by uid.
        only: the one state that is wanted; None for all.
    """
    declared = DeclaredStates.of(store)
    states = _states(store, declared, max_parallelism)
    states += [(uid, CLOCK) for uid in max_parallelism]
    for uid, spec in states:
        if spec.scope == "subtask" or only not in (None, spec.name):
            continue
        recorded = recorded_in(store, f"{uid}/{spec.name}")
        if recorded is not None:
            yield SavedEntry(uid, spec.name, RECORDED, None, None, asdict(recorded))
        tells = bool(declared.of_operator(uid))
        for entry in _entries(store, uid, spec, max_parallelism[uid]):
            if tells:
                tells = False
                yield declaration(uid, spec)
            yield entry


def _states(
    store: ListedPages, declared: DeclaredStates, uids: Iterable[str]
) -> list[tuple[str, StateSpec]]:
    """(operator, state) of everything in a store; what tasks keep for themselves is left out."""
    found: dict[tuple[str, StateSpec], None] = {}
    seen: set[str] = set()
    by_length = sorted(uids, key=len, reverse=True)  # one uid may begin with another
    for name in store:
        text = name.split(b"\0", 1)[0].decode()
        if text in seen:
            continue
        seen.add(text)
        uid = next((uid for uid in by_length if text.startswith(f"{uid}/")), None)
        if uid is not None:
            found[uid, declared.state_of(uid, text.removeprefix(f"{uid}/"))] = None
    return list(found)


def _entries(store: ListedPages, uid: str, spec: StateSpec, width: int) -> Iterator[SavedEntry]:
    keyed = spec.scope == "keyed"
    for key, namespace, value, *part in layout_of(spec).entries(store, f"{uid}/{spec.name}"):
        group = key_group_of(key, width) if keyed else EVERYWHERE
        yield SavedEntry(uid, spec.name, group, key, namespace, value, *part)


def declaration(uid: str, spec: StateSpec) -> SavedEntry:
    """The entry that tells the layout of a state, in front of those of the state."""
    return SavedEntry(uid, spec.name, DECLARED, None, None, spec_to_json(spec))


class ToldStates:
    """The layouts of states whose entries are read one after the other, as they tell of it."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], StateSpec] = {}

    def hear(self, entry: SavedEntry) -> None:
        """Take note of a declaration; other entries tell nothing."""
        if entry.key_group == DECLARED:
            place = (entry.operator, entry.state)
            self._told[place] = spec_from_json(entry.state, entry.value)

    def spec(self, operator: str, state: str) -> StateSpec:
        """The state of an entry."""
        return self._told.get((operator, state)) or spec_in_0_1(state)

    def write(self, store: PageStore) -> None:
        """Let a store tell the same."""
        if self._told:
            declared = DeclaredStates.of(store)
            for (uid, _), spec in self._told.items():
                declared.declare(uid, (spec,))
            declared.write(store)


# --- back ----------------------------------------------------------------------------------------


def load(store: PageStore, entries: Iterable[SavedEntry]) -> int:
    """Put entries into the store of a subtask; how many there were."""
    targets: dict[tuple[str, str], Target] = {}
    stores: dict[str, SizedStore] = {}  # by operator
    told = ToldStates()
    count = 0
    for entry in entries:
        place = (entry.operator, entry.state)
        sized = stores.setdefault(entry.operator, SizedStore(store))
        if entry.is_description:
            told.hear(entry)
            if entry.key_group == RECORDED:
                recorded = Recorded(**entry.value)
                sized.put(record_key("/".join(place)), recorded.to_bytes())
            continue
        target = targets.get(place)
        if target is None:
            layout = layout_of(told.spec(*place))
            target = targets[place] = layout.target(sized, "/".join(place))
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
    told.write(store)
    store_sizes(store, {uid: sized.size.total_bytes for uid, sized in stores.items()})
    return count


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
