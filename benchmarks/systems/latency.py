"""What the latency jobs share: when events are due, and when they came out.

`--events` over RATE is how long a run lasts, `--warmup-events` over RATE how much of it is warm-up,
both from the first result on.  An event counts from the moment its schedule says it is due, not
from when a source got round to making it: an engine that holds its source up for a second would
otherwise show one slow event in place of ten thousand.  Only the standard library, as PyFlink's
environment has little else.
"""

from __future__ import annotations

import itertools
import time
from array import array
from typing import TYPE_CHECKING, Any

from measure import report

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable
    from pathlib import Path

RATE = 10_000
KEYS = 10_000
PARALLELISM = 2
EPOCH_S = 30
WINDOW_MS = 10
GROUPS = 97
# batches take seconds in some systems, so a minute is not a whole number of them
KEEPS_UP = 0.85
# how long a system may take to its first result, and behind the end of its run
PATIENCE_S = 180.0


class Schedule:
    """When events are due that come at an even rate.

    The beginning is not told, it is found: no event is made before it is due, so the one that was
    made with the least delay shows it.

    Args:
        rate: events a second.
    """

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._began: float | None = None

    def due(self, made: int, now: float) -> float:
        """When the schedule began, if `made` events of it are there now; add number / rate."""
        began = now - made / self._rate
        if self._began is None or began < self._began:
            self._began = began
        return self._began


class Arrivals:
    """When results came, and when the events that they tell of were due."""

    def __init__(self) -> None:
        self.came = array("d")
        self.created = array("d")

    def note(self, created: float) -> None:
        """A result is here."""
        self.came.append(time.time())
        self.created.append(created)

    def note_all(self, created: Iterable[float]) -> None:
        """Results that came together."""
        before = len(self.created)
        self.created.extend(created)
        self.came.extend([time.time()] * (len(self.created) - before))

    def write(self, file: Path) -> None:
        """For the process that reports."""
        count = array("q", [len(self.came)])
        file.write_bytes(count.tobytes() + self.came.tobytes() + self.created.tobytes())

    def read(self, file: Path) -> None:
        """Add what another process has written."""
        content = file.read_bytes()
        count = array("q", content[:8])[0]
        self.came.frombytes(content[8 : 8 + 8 * count])
        self.created.frombytes(content[8 + 8 * count :])

    def between(self, first: float, last: float) -> list[tuple[float, float]]:
        """(when it came, after how long) in that time, in order."""
        pairs = zip(self.came, self.created, strict=True)
        return sorted((came, came - created) for came, created in pairs if first <= came < last)

    def newest(self, until: float) -> float:
        """The creation time of the newest event that had come by then."""
        pairs = zip(self.came, self.created, strict=True)
        return max(created for came, created in pairs if came <= until)


def percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def wait_for(condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"nothing came within {patience_s:.0f} s")
        time.sleep(0.05)


def let_run(options: argparse.Namespace, arrivals: Arrivals) -> None:
    """Until the run has lasted as long as it shall, from its first result on."""
    wait_for(lambda: len(arrivals.came) > 0)
    time.sleep(options.events / RATE)


def longest_gap(
    came: list[float], spans: Iterable[tuple[float, float]]
) -> tuple[float, float] | None:
    """The longest time without a result in ms: (near one of the spans, elsewhere)."""
    spans = list(spans)
    near, elsewhere = 0.0, 0.0
    for before, after in itertools.pairwise(came):
        if any(before <= end and start <= after for start, end in spans):
            near = max(near, after - before)
        else:
            elsewhere = max(elsewhere, after - before)
    return (1000 * near, 1000 * elsewhere) if spans else None


def summary(
    options: argparse.Namespace, arrivals: Arrivals, epochs: Iterable[tuple[float, float]] = ()
) -> dict[str, Any]:
    """What a run shows behind its warm-up, in ms.

    Args:
        options: of the script.
        arrivals: of all results.
        epochs: for each end of an epoch when it was written, and when it was done.
    """
    began = min(arrivals.came)
    first, last = began + options.warmup_events / RATE, began + options.events / RATE
    found = arrivals.between(first, last)
    if not found:
        raise SystemExit("nothing came behind the warm-up")
    ordered = sorted(1000 * latency for _, latency in found)
    gap = longest_gap(
        [came for came, _ in found],
        [(start - 1, end + 0.5) for start, end in epochs if first <= start < last],
    )
    return {
        # seconds of events done a second: 1 if it keeps up
        "pace": (arrivals.newest(last) - arrivals.newest(first)) / (last - first),
        "results_per_s": round(len(found) / (last - first)),
        "latency_ms": [round(percentile(ordered, share), 1) for share in (0.5, 0.99, 0.999, 1.0)],
        "gap_ms": None if gap is None else [round(ms, 1) for ms in gap],
    }


def report_latency(
    system: str,
    options: argparse.Namespace,
    arrivals: Arrivals,
    *,
    settings: str,
    epochs: Iterable[tuple[float, float]] = (),
) -> None:
    """Prints the line of a latency job.

    `events_per_s` are results: with one exchange as many as events, with windows one a group.
    """
    found = summary(options, arrivals, epochs)
    note = settings
    if found["gap_ms"] is not None:
        near, elsewhere = found["gap_ms"]
        note += f"; longest gap at an epoch's end {near:.0f} ms, elsewhere {elsewhere:.0f} ms"
    if found["pace"] < KEEPS_UP:
        note += f"; FALLS BEHIND: does {found['pace']:.2f} s of events a second"
    report(
        system=system,
        job=options.job,
        events=options.events,
        seconds=options.events / RATE,
        events_per_s=found["results_per_s"],
        latency_ms=found["latency_ms"],
        note=note,
    )
