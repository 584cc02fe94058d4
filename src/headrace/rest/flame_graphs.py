"""Flame graphs of vertices: asked for at drivers, kept for a while, drawn by type.

In: samples of a driver (runtime/task_samples.py).  Out: Flink's `VertexFlameGraph`: the first
question begins to sample and is told to wait, later ones get the newest graph that there is.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.common.clock import wall_clock
from headrace.common.options import OPTIONS
from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.config_options import ConfigOption
    from headrace.common.configuration import Configuration
    from headrace.common.opaque import JsonObject, OptionValue

# what Flink puts in the place of the time where there is no graph
TERMINATED, DISABLED, WAITING = ({"endTimestamp": number} for number in (-1, -2, -3))
# which counts of a stack a type adds up
TYPES = {"full": ("on", "off"), "on_cpu": ("on",), "off_cpu": ("off",)}
_MOST = 200


@dataclass(frozen=True, slots=True)
class FlameGraphSettings:
    """How flame graphs are made: options `rest.flamegraph.*`."""

    enabled: bool = False
    count: int = 100
    delay_ms: int = 50
    depth: int = 100
    refresh_ms: int = 60_000
    cleanup_ms: int = 600_000

    @staticmethod
    def of(configuration: Configuration) -> FlameGraphSettings:
        """The settings of a configuration."""

        def number(option: ConfigOption[OptionValue]) -> int:
            return int(str(configuration.get(option)))

        return FlameGraphSettings(
            enabled=bool(configuration.get(OPTIONS["rest.flamegraph.enabled"])),
            count=number(OPTIONS["rest.flamegraph.num-samples"]),
            delay_ms=number(OPTIONS["rest.flamegraph.delay-between-samples"]),
            depth=number(OPTIONS["rest.flamegraph.stack-depth"]),
            refresh_ms=number(OPTIONS["rest.flamegraph.refresh-interval"]),
            cleanup_ms=number(OPTIONS["rest.flamegraph.cleanup-interval"]),
        )


@dataclass(slots=True)
class _Kept:
    asked_at: float
    begun_at: float
    samples: list[JsonObject] | None = None
    ended_ms: int = 0
    busy: bool = True


class FlameGraphs:
    """The graphs of a dispatcher; each is made in a thread, and never twice at once."""

    def __init__(self, settings: FlameGraphSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._kept: dict[object, _Kept] = {}

    def get(self, key: object, kind: str, sample: Callable[[], list[JsonObject]]) -> JsonObject:
        """The newest graph, or that one is being made.

        Args:
            key: whose graph.
            kind: a key of TYPES.
            sample: asks the driver.
        """
        now = time.monotonic()
        with self._lock:
            self._forget(now)
            kept = self._kept.get(key)
            if kept is None:
                kept = self._kept[key] = _Kept(now, now)
                self._begin(kept, sample)
            elif not kept.busy and (now - kept.begun_at) * 1000 >= self._settings.refresh_ms:
                kept.busy, kept.begun_at = True, now
                self._begin(kept, sample)
            kept.asked_at = now
            if kept.samples is None:
                return WAITING
            return {"endTimestamp": kept.ended_ms, "data": drawn(kept.samples, TYPES[kind])}

    def _forget(self, now: float) -> None:
        old = self._settings.cleanup_ms / 1000
        kept = {k: each for k, each in self._kept.items() if now - each.asked_at < old}
        self._kept = dict(list(kept.items())[-_MOST:])

    @staticmethod
    def _begin(kept: _Kept, sample: Callable[[], list[JsonObject]]) -> None:
        def run() -> None:
            try:
                kept.samples, kept.ended_ms = sample(), wall_clock()
            except HeadraceError:
                # it has ended or restarts: what there is stays, and the next question tries again
                kept.begun_at = float("-inf")
            finally:
                kept.busy = False

        threading.Thread(target=run, name="headrace-flame-graph", daemon=True).start()


def drawn(samples: list[JsonObject], counts: tuple[str, ...]) -> JsonObject:
    """Stacks as a tree: a call that was seen in several of them is one node."""
    root: JsonObject = {"name": "root", "value": 0, "children": []}
    for sample in samples:
        value = sum(sample[count] for count in counts)
        node = root
        for name in (None, *sample["stack"]) if value else ():
            if name is not None:
                node = _child(node, name)
            node["value"] += value
    return root


def _child(node: JsonObject, name: str) -> JsonObject:
    children: list[JsonObject] = node["children"]
    for each in children:
        if each["name"] == name:
            return each
    child: JsonObject = {"name": name, "value": 0, "children": []}
    children.append(child)
    return child
