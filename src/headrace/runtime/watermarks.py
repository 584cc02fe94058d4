"""Combines watermarks: of channels into the clock of an input, of inputs into an operator's clock.

    channels ─▶ Valve, one for each input ─▶ InputClocks ─▶ the operator's event time

In: watermarks, and who is idle.  Out: the new minimum, when it rose, over all that are active.
A subtask channel that returns from idleness behind the clock is left out until it catches up
(docs/semantics.md#w8); a split of a source or an input that is behind holds the clock
(docs/semantics.md#w10), so that a lagging partition loses nothing.  Next: runtime/chain.py
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

from headrace.data.records import MAX_TIMESTAMP, MIN_TIMESTAMP
from headrace.spi.state import CLOCK, Layout, Target, register_layout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from headrace.runtime.pages.store import PageStore
    from headrace.spi.state import ListedPages

_SILENT = "?"  # stands for the channels of an edge that has not sent anything yet
# a watermark that moves no clock: the channel is silent, but not idle (hosts/alignment.py)
ALIVE = MIN_TIMESTAMP + 1
# a watermark that takes its channel away: a split that is not read any more holds no clock
GONE = MIN_TIMESTAMP + 2
ALL_CHANNELS = ""  # a watermark for every channel of an edge at once: end of input


class Valve:
    """Watermarks of all channels that feed one input of an operator in one subtask.

    Args:
        expected: the edges that feed the input, and the number of channels each will have, or 0
            where channels are the splits of a source and show up as they send.
        idle_after: for edges whose strategy has an idle timeout, that timeout in milliseconds.
    """

    def __init__(self, expected: dict[int, int], idle_after: dict[int, int] | None = None) -> None:
        self._idle_after = idle_after or {}
        self._last_seen: dict[tuple[int, str], int] = {}  # rebuilt: a restart starts the time anew
        self._declared = dict(expected)
        self.expected = dict(expected)
        # survives restart
        self.channels: dict[int, dict[str, int]] = {edge: {} for edge in expected}
        self.idle: set[tuple[int, str]] = set()
        # subtask channels that came back from idleness behind the clock
        self.behind: set[tuple[int, str]] = set()
        self.current = MIN_TIMESTAMP
        # whether all channels are idle, and thus the input; follows from the fields above
        self.is_idle = False

    def update(self, edge: int, channel: str, watermark: int, now: int = 0) -> int | None:
        """Take in a watermark; the new minimum if it rose, else None.

        MIN is none: it tells of a split that has no records yet, and holds the clock for it.
        """
        channels = self.channels[edge]
        if watermark == ALIVE and channel not in channels:
            return None  # its records go elsewhere
        channels.pop(_SILENT, None)
        if watermark == GONE:
            return self._let_go(edge, channel)
        if watermark == MIN_TIMESTAMP and self._declared[edge] == 0:
            channels.setdefault(channel, MIN_TIMESTAMP)
            return None
        self._last_seen[edge, channel] = now
        if channel == ALL_CHANNELS:
            self.expected[edge] = 0
            for known in channels:
                channels[known] = watermark
        if watermark > channels.get(channel, MIN_TIMESTAMP):
            channels[channel] = watermark
        self._wake(edge, channel)
        return self._advance()

    def _wake(self, edge: int, channel: str) -> None:
        """A channel spoke. One that was idle may be behind now, any other holds the clock."""
        place = (edge, channel)
        if self.channels[edge].get(channel, MIN_TIMESTAMP) >= self.current:
            self.behind.discard(place)
        elif place in self.idle and self.expected[edge] > 0:
            self.behind.add(place)
        self.idle.discard(place)

    def _let_go(self, edge: int, channel: str) -> int | None:
        self.channels[edge].pop(channel, None)
        self._last_seen.pop((edge, channel), None)
        self.idle.discard((edge, channel))
        self.behind.discard((edge, channel))
        return self._advance()

    def set_idle(self, edge: int, channel: str) -> int | None:
        """A channel has nothing to say for now; the others decide alone."""
        self.channels[edge].setdefault(channel, MIN_TIMESTAMP)
        self.idle.add((edge, channel))
        return self._advance()

    def check_idle(self, now: int) -> int | None:
        """Leave out channels that have been silent for longer than their timeout."""
        before = self.current
        for edge, channel, deadline in list(self._watched(now)):
            if now >= deadline:
                self.set_idle(edge, channel)
        return self.current if self.current > before else None

    def next_idle(self, now: int) -> int | None:
        """When a channel would become idle if it stays silent."""
        return min((deadline for _, _, deadline in self._watched(now)), default=None)

    def _watched(self, now: int) -> Iterator[tuple[int, str, int]]:
        for edge, timeout in self._idle_after.items():
            for channel, watermark in (self.channels[edge] or {_SILENT: MIN_TIMESTAMP}).items():
                if watermark != MAX_TIMESTAMP and (edge, channel) not in self.idle:
                    seen = self._last_seen.setdefault((edge, channel), now)
                    yield edge, channel, seen + timeout + 1

    def _advance(self) -> int | None:
        minimum = self._minimum()
        if minimum <= self.current:
            return None
        self.current = minimum
        return minimum

    def _minimum(self) -> int:
        lowest = MAX_TIMESTAMP
        highest = MIN_TIMESTAMP
        counted = self.is_idle = False
        for edge, wanted in self.expected.items():
            channels = self.channels[edge]
            if not channels or len(channels) < wanted:
                return MIN_TIMESTAMP
            for channel, watermark in channels.items():
                highest = max(highest, watermark)
                place = (edge, channel)
                if place not in self.idle and place not in self.behind:
                    counted = True
                    lowest = min(lowest, watermark)
        if counted:
            return lowest
        self.is_idle = bool(self.expected) and not self.behind - self.idle
        return highest if self.is_idle else self.current

    def splits(self) -> dict[str, tuple[int, bool]]:
        """The splits of sources behind this input: how far each is, and whether it is idle."""
        return {
            channel: (watermark, (edge, channel) in self.idle)
            for edge, count in self._declared.items()
            if count == 0
            for channel, watermark in self.channels[edge].items()
            if channel not in (_SILENT, ALL_CHANNELS)
        }

    def snapshot(self, names: dict[int, str]) -> dict[str, Any]:
        """What must survive a restart, with edges by name: numbers change with the program."""
        return {
            "channels": {names[edge]: dict(known) for edge, known in self.channels.items()},
            "idle": sorted((names[edge], channel) for edge, channel in self.idle),
            "behind": sorted((names[edge], channel) for edge, channel in self.behind),
            "ended": sorted(names[edge] for edge, count in self.expected.items() if count == 0),
            "current": self.current,
        }

    def restore(self, stored: dict[str, Any] | None, ids: dict[str, int]) -> None:
        """Continue from a snapshot; edges that are new start empty."""
        stored = stored or {}
        self.expected = dict(self._declared)  # this process may have seen an end that was undone
        self.channels = {edge: {} for edge in self.expected}
        for name, known in stored.get("channels", {}).items():
            if ids.get(name) in self.channels:
                self.channels[ids[name]] = dict(known)
        for places, known_as in ((self.idle, "idle"), (self.behind, "behind")):
            places.clear()
            places.update((ids[n], channel) for n, channel in stored.get(known_as, ()) if n in ids)
        for name in stored.get("ended", ()):
            if ids.get(name) in self.expected:
                self.expected[ids[name]] = 0
        self.current = stored.get("current", MIN_TIMESTAMP)
        self._minimum()  # says whether the input is idle


class InputClocks:
    """One clock from those of an operator's inputs.

    Args:
        watermarks: how far each input is.
        idle: the inputs that are idle as a whole.
        current: how far the operator itself was; it never goes back.
    """

    def __init__(
        self, watermarks: Sequence[int], idle: Iterable[int] = (), current: int = MIN_TIMESTAMP
    ) -> None:
        self.watermarks = list(watermarks)
        self.idle = set(idle)
        self.current = max(current, self._combined())

    def update(self, number: int, watermark: int) -> int | None:
        """An input's clock moved, or it is no longer idle; the new minimum if it rose."""
        self.watermarks[number] = watermark
        self.idle.discard(number)
        return self._advance()

    def set_idle(self, number: int) -> int | None:
        """An input has nothing to say for now; the new minimum of the others if it rose."""
        self.idle.add(number)
        return self._advance()

    @property
    def is_idle(self) -> bool:
        """Whether all inputs are."""
        return len(self.idle) == len(self.watermarks)

    @property
    def is_ahead(self) -> bool:
        """Whether the clock is further than the inputs alone would tell after a restart."""
        return self.current > min(self.watermarks)

    def _combined(self) -> int:
        if self.is_idle:
            return max(self.watermarks, default=MIN_TIMESTAMP)
        return min(time for number, time in enumerate(self.watermarks) if number not in self.idle)

    def _advance(self) -> int | None:
        combined = self._combined()
        if combined <= self.current:
            return None
        self.current = combined
        return combined


# --- the clocks of a subtask in its store --------------------------------------------------------

_CLOCKS = b"task/clocks"
# stands for the number of an input where the operator's own clock is meant
OWN_CLOCK = -1


def stored_clocks(store: PageStore) -> dict[str, dict[str, Any]]:
    """The clocks with which a subtask has survived a restart, by ``operator uid:input``."""
    content = store.get(_CLOCKS)
    return {} if content is None else dict(pickle.loads(content))


def store_clocks(store: PageStore, clocks: dict[str, dict[str, Any]]) -> None:
    """Let the clocks of a subtask survive a restart."""
    store.put(_CLOCKS, pickle.dumps(clocks, 5))


class ClockLayout(Layout):
    """How far event time had come at the inputs of an operator, by the number of the input.

    Where an input was idle, the operator may have been further: that is told beside them.

    Flink forgets this in a savepoint; here a window that has fired must not fire once more when a
    job goes on with another parallelism.
    """

    def entries(self, store: ListedPages, name: str) -> Iterator[tuple[Any, ...]]:
        """The clocks of the inputs."""
        mine = _operator_of(name)
        for place, clock in stored_clocks(store).items():
            uid, _, number = place.rpartition(":")
            # after the end of time a job begins anew
            if uid == mine and MIN_TIMESTAMP < clock["current"] < MAX_TIMESTAMP:
                yield int(number), None, clock["current"]

    def target(self, store: PageStore, name: str) -> Target:
        """Takes those of all old subtasks."""
        return _ClockTarget(store, _operator_of(name))


class _ClockTarget(Target):
    """Event time begins where the last of the old subtasks was."""

    def __init__(self, store: PageStore, uid: str) -> None:
        self._store = store
        self._uid = uid
        self._slowest: dict[int, int] = {}

    def put(self, key: Any, namespace: Any, value: Any) -> None:
        self._slowest[key] = min(value, self._slowest.get(key, value))

    def flush(self) -> None:
        clocks = stored_clocks(self._store)
        clocks.update({f"{self._uid}:{n}": {"current": time} for n, time in self._slowest.items()})
        store_clocks(self._store, clocks)


def _operator_of(name: str) -> str:
    return name.removesuffix(f"/{CLOCK.name}")


register_layout(ClockLayout("clock"))
