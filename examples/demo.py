"""The main job: visitors per country from a web-access log, over event-time windows, live.

A generated log of page views, up to two seconds out of order, is read as a stream; every ten
seconds of event time each country's views and errors are counted.  Ends by itself after about a
minute, or with Ctrl-C.

    source ── timestamps ── key_by(country) ── 10 s windows ── live table
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any, NamedTuple

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.datastream.window import TumblingEventTimeWindows

COUNTRIES = ["Brazil", "Finland", "Germany", "India", "Japan", "Kenya", "Mexico", "Norway"]
WINDOW = Duration.of_seconds(10)
FIRST_EVENT_MS = 1_767_225_600_000  # 2026-01-01


class PageView(NamedTuple):
    """A line of the log."""

    country: str
    visitor: int
    status: int
    at_ms: int


class PerCountry(NamedTuple):
    """A result: one country in one window."""

    window_start_ms: int
    country: str
    views: int
    visitors: int
    errors: int


class Log:
    """Makes line number n of the log; the same number always gives the same line."""

    def __init__(self, views_per_second: int) -> None:
        self.views_per_second = views_per_second

    def __call__(self, number: int) -> PageView:
        chance = random.Random(number)
        country = COUNTRIES[min(int(chance.expovariate(0.4)), len(COUNTRIES) - 1)]
        delay_ms = int(chance.triangular(0, 2000, 0))
        at_ms = FIRST_EVENT_MS + number * 1000 // self.views_per_second - delay_ms
        return PageView(country, chance.randrange(5000), chance.choice([200] * 19 + [500]), at_ms)


class Traffic(AggregateFunction):
    """Counts views, visitors and errors as they come."""

    def create_accumulator(self) -> tuple[int, set[int], int]:
        """Nothing seen yet."""
        return 0, set(), 0

    def add(self, value: PageView, accumulator: Any) -> Any:
        """One more view."""
        views, visitors, errors = accumulator
        visitors.add(value.visitor)
        return views + 1, visitors, errors + (value.status >= 500)

    def get_result(self, accumulator: Any) -> tuple[int, int, int]:
        """Views, visitors, errors."""
        views, visitors, errors = accumulator
        return views, len(visitors), errors

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        """Needed by session windows only."""
        return acc_a[0] + acc_b[0], acc_a[1] | acc_b[1], acc_a[2] + acc_b[2]


class WithWindow(ProcessWindowFunction):
    """Puts country and window beside the counts."""

    def process(self, key: str, context: Any, elements: Any) -> Any:
        """One result."""
        for views, visitors, errors in elements:
            yield PerCountry(context.window().start, key, views, visitors, errors)


def build(env: StreamExecutionEnvironment, seconds: int, views_per_second: int) -> Any:
    """The program."""
    source = DataGeneratorSource(
        Log(views_per_second),
        seconds * views_per_second,
        RateLimiterStrategy.per_second(views_per_second),
    )
    strategy = WatermarkStrategy.for_bounded_out_of_orderness("2 seconds").with_timestamp_assigner(
        lambda view, _: view.at_ms
    )
    return (
        env.from_source(source, strategy, "web-access log")
        .key_by(lambda view: view.country)
        .window(TumblingEventTimeWindows.of(WINDOW))
        .aggregate(Traffic(), WithWindow(), output_type=Types.PICKLED_BYTE_ARRAY())
    )


class Screen:
    """What has come so far, as a live table."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.started = time.time()
        self.first_seen = 0.0
        self.latest: dict[str, PerCountry] = {}
        self.windows: defaultdict[int, int] = defaultdict(int)
        self.client: Any = None
        self.lock = threading.Lock()

    def add(self, result: PerCountry) -> None:
        """Take a result in."""
        with self.lock:
            self.latest[result.country] = result
            self.windows[result.window_start_ms] += result.views

    def __rich__(self) -> Group:
        with self.lock:
            table = Table(title="visitors per country, 10-second windows")
            for name in ("country", "window", "views", "visitors", "errors"):
                table.add_column(name, justify="left" if name == "country" else "right")
            for result in sorted(self.latest.values(), key=lambda r: -r.views):
                table.add_row(
                    result.country,
                    clock(result.window_start_ms),
                    f"{result.views:,}",
                    f"{result.visitors:,}",
                    f"{result.errors:,}",
                )
        return Group(table, self.progress())

    def progress(self) -> Text:
        """Events, speed and watermark."""
        seen, watermark = 0, None
        if self.client is not None:
            operators = self.client.get_metrics()["operators"]
            seen = max((o["numRecordsIn"] for o in operators.values()), default=0)
            marks = [o["currentInputWatermark"] for o in operators.values()]
            watermark = max((mark for mark in marks if mark > 0), default=None)
        if not seen:
            return Text(f"starting Spark ... {time.time() - self.started:.0f} s")
        self.first_seen = self.first_seen or time.time()
        elapsed = max(1.0, time.time() - self.first_seen)
        done = min(1.0, seen / self.total)
        bar = "━" * int(done * 30) + "─" * (30 - int(done * 30))
        mark = "none yet" if watermark is None else clock(watermark)
        return Text(
            f"{bar} {done:4.0%}  {seen:,} events  {seen / elapsed:,.0f} events/s  "
            f"watermark {mark}  {len(self.windows)} windows   (Ctrl-C stops)"
        )


def clock(milliseconds: int) -> str:
    """Time of day; the last watermark of all stands for the end of time."""
    if milliseconds >= 1 << 62:
        return "end of input"
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%H:%M:%S")


def main() -> None:
    """Run the job and show it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=45, help="how long the log goes on")
    parser.add_argument("--rate", type=int, default=2000, help="page views a second")
    options = parser.parse_args()
    console = Console()
    env = StreamExecutionEnvironment.get_execution_environment()
    screen = Screen(options.seconds * options.rate)
    console.print("[bold]headrace[/]: a Flink-style program on Spark, in this process")
    with Live(screen, console=console, refresh_per_second=4) as live:
        results = build(env, options.seconds, options.rate).execute_and_collect("demo")
        screen.client = results.job_client
        try:
            for result in results:
                screen.add(result)
        except KeyboardInterrupt:
            results.close()
            results.wait()
            live.update(screen, refresh=True)
            console.print("stopped by Ctrl-C; nothing half-written is left behind")
            return
        live.update(screen, refresh=True)
    console.print("the log has ended, so every open window was counted; done")


if __name__ == "__main__":
    main()
