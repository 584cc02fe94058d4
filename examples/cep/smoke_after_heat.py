"""Smoke that follows heat within ten minutes, per room; heat alone is told, too.

    readings ── key_by(room) ── heat, followed by smoke, within 10 min ──┬── alarms
                                                                         └── heat that calmed down

A match takes the first smoke behind the heat, whatever else was read in between. Heat that no
smoke follows in time is a partial match that timed out: it leaves by a side output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern, PatternProcessFunction
from headrace.common import Duration, Row, Types, WatermarkStrategy
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.expressions import col

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.datastream import DataStream

READING = Types.ROW_NAMED(
    ["room", "kind", "value", "at_ms"],
    [Types.STRING(), Types.STRING(), Types.DOUBLE(), Types.LONG()],
)
ALARM = Types.ROW_NAMED(
    ["room", "degrees", "smoke_after_s"], [Types.STRING(), Types.DOUBLE(), Types.LONG()]
)
CALMED = OutputTag("calmed", Types.STRING())
MINUTE_MS = 60_000
READINGS = [
    Row("kitchen", "temperature", 85.0, 0),
    Row("attic", "temperature", 91.0, 1 * MINUTE_MS),
    Row("kitchen", "temperature", 70.0, 2 * MINUTE_MS),
    Row("kitchen", "smoke", 0.4, 5 * MINUTE_MS),
    Row("attic", "smoke", 0.6, 12 * MINUTE_MS),
]


class Alarms(PatternProcessFunction):
    def process_match(self, match: dict[str, list[Row]], ctx: Any) -> Iterator[Row]:
        [heat], [smoke] = match["heat"], match["smoke"]
        yield Row(heat.room, heat.value, (smoke.at_ms - heat.at_ms) // 1000)

    def process_timed_out_match(self, match: dict[str, list[Row]], ctx: Any) -> Iterator[Any]:
        [heat] = match["heat"]
        yield CALMED, f"{heat.room} was {heat.value:.0f} degrees, and nothing followed"


def smoke_after_heat() -> Pattern:
    # after an alarm, begin anew behind its smoke: one alarm for a fire, not one for each reading
    return (
        Pattern.begin("heat", AfterMatchSkipStrategy.skip_past_last_event())
        .where((col("kind") == "temperature") & (col("value") > 80))
        .followed_by("smoke")
        .where(col("kind") == "smoke")
        .within(Duration.of_minutes(10))
    )


def build(readings: DataStream) -> DataStream:
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at_ms")
    timed = readings.assign_timestamps_and_watermarks(in_order)
    return (
        CEP.pattern(timed.key_by("room"), smoke_after_heat())
        .process(Alarms(), output_type=ALARM)
        .uid("smoke after heat")
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    alarms = build(env.from_collection(READINGS, READING))
    alarms.print()
    alarms.get_side_output(CALMED).print()
    env.execute("smoke after heat")


if __name__ == "__main__":
    main()
