"""Joins on Spark: both kinds in one program, over several batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import OutputTag, ProcessJoinFunction
from headrace.datastream.window import TumblingEventTimeWindows

if TYPE_CHECKING:
    from headrace.datastream import StreamExecutionEnvironment

EVENT = Types.TUPLE([Types.STRING(), Types.LONG()])
EVEN = OutputTag("even", Types.LONG())


class Distance(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left[0], left[1], right[1]
        if (right[1] - left[1]) % 2 == 0:
            ctx.output(EVEN, ctx.get_timestamp())


def test_window_and_interval_joins_of_two_sources(env: StreamExecutionEnvironment) -> None:
    lefts = [(key, time) for time in range(0, 40, 4) for key in "ab"]
    rights = [("a", time) for time in range(1, 40, 5)]
    # every record may come, however the batches of the two sources lie
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(100).with_timestamp_assigner(
        lambda event, _: event[1]
    )
    left, right = (
        env.from_collection(events, EVENT).assign_timestamps_and_watermarks(strategy)
        for events in (lefts, rights)
    )
    near = left.key_by(lambda e: e[0]).interval_join(right.key_by(lambda e: e[0])).between(-2, 3)
    pairs = near.process(Distance())
    windows = TumblingEventTimeWindows.of(10)
    joined = left.join(right).where(0).equal_to(0).window(windows).apply(lambda a, b: (a[1], b[1]))
    grouped = (
        left.co_group(right)
        .where(0)
        .equal_to(0)
        .window(windows)
        .apply(lambda a, b: [(len(a), len(b))])
    )
    found: dict[str, list[Any]] = {"pairs": [], "even": [], "joined": [], "grouped": []}
    pairs.add_sink(found["pairs"].append)
    pairs.get_side_output(EVEN).add_sink(found["even"].append)
    joined.add_sink(found["joined"].append)
    grouped.add_sink(found["grouped"].append)

    env.execute("joins")

    times = [(time, other) for key, time in lefts if key == "a" for _, other in rights]
    close = [pair for pair in times if -2 <= pair[1] - pair[0] <= 3]
    assert sorted(found["pairs"]) == sorted(("a", *pair) for pair in close)
    assert sorted(found["even"]) == sorted(max(p) for p in close if (p[1] - p[0]) % 2 == 0)
    assert sorted(found["joined"]) == sorted(p for p in times if p[0] // 10 == p[1] // 10)
    assert sorted(found["grouped"]) == sorted(
        [(3, 0), (2, 0), (3, 0), (2, 0)] + [(3, 2), (2, 2)] * 2
    )
