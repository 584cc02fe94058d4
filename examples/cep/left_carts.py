"""Shopping carts that were filled and then left: half an hour without another item or a payment.

    clicks ── key_by(customer) ── put, not followed by put or pay, within 30 min ── reminders

A pattern may end with what does not happen. It is a match when the time is over: when the watermark
has passed the last thing that was put into the cart by half an hour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cep import CEP, Pattern
from headrace.common import Duration, Row, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import col

if TYPE_CHECKING:
    from headrace.datastream import DataStream

CLICK = Types.ROW_NAMED(
    ["customer", "kind", "item", "at_ms"],
    [Types.STRING(), Types.STRING(), Types.STRING(), Types.LONG()],
)
REMINDER = Types.ROW_NAMED(["customer", "last_item"], [Types.STRING(), Types.STRING()])
MINUTE_MS = 60_000
CLICKS = [
    Row("ada", "put", "hat", 0),
    Row("bob", "put", "coat", 1 * MINUTE_MS),
    Row("ada", "put", "gloves", 3 * MINUTE_MS),
    Row("bob", "pay", "", 9 * MINUTE_MS),
    Row("cid", "put", "scarf", 50 * MINUTE_MS),
]


def left_cart() -> Pattern:
    return (
        Pattern.begin("last")
        .where(col("kind") == "put")
        .not_followed_by("more")
        .where(col("kind").isin("put", "pay"))
        .within(Duration.of_minutes(30))
    )


def reminder(match: dict[str, list[Any]]) -> Row:
    [last] = match["last"]
    return Row(last.customer, last.item)


def build(clicks: DataStream) -> DataStream:
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at_ms")
    timed = clicks.assign_timestamps_and_watermarks(in_order)
    return (
        CEP.pattern(timed.key_by("customer"), left_cart())
        .select(reminder, output_type=REMINDER)
        .uid("left carts")
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env.from_collection(CLICKS, CLICK)).print()
    env.execute("left carts")


if __name__ == "__main__":
    main()
