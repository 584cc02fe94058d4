"""A small payment and then a large one within a minute; what is large changes while the job runs.

    payments ── key_by(account) ──┐
                                  ├── the newest version of every pattern ──┬── alerts
    documents ── broadcast ───────┘                                         └── refused documents

A pattern is a document: a new version of it is sent, and holds for the payments that come then,
without a restart. A document that cannot be used is refused with the reason, and the job goes on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from headrace.cep import CEP, PatternProcessFunction
from headrace.common import Row, Types, WatermarkStrategy
from headrace.datastream import OutputTag, StreamExecutionEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.datastream import DataStream

PAYMENT = Types.ROW_NAMED(
    ["account", "amount", "at_ms"], [Types.LONG(), Types.DOUBLE(), Types.LONG()]
)
ALERT = Types.ROW_NAMED(
    ["account", "amount", "rule"], [Types.LONG(), Types.DOUBLE(), Types.STRING()]
)
REFUSED = OutputTag("refused documents", Types.STRING())
PAYMENTS = [
    Row(1, 0.5, 1_000),
    Row(2, 0.2, 2_000),
    Row(1, 700.0, 20_000),
    Row(2, 300.0, 30_000),
    Row(3, 0.9, 40_000),
    Row(3, 900.0, 110_000),  # too late
]


def document(large: float, version: int) -> str:
    return json.dumps(
        {
            "id": "small then large",
            "version": version,
            "within": "1 min",
            "pattern": [
                {"name": "small", "where": "amount < 1"},
                {"name": "large", "after": "next", "where": f"amount > {large}"},
            ],
        }
    )


class Alerts(PatternProcessFunction):
    def process_match(self, match: dict[str, list[Row]], ctx: Any) -> Iterator[Row]:
        [payment] = match["large"]
        yield Row(payment.account, payment.amount, f"{ctx.pattern_id()} {ctx.pattern_version()}")


def build(payments: DataStream, documents: DataStream) -> DataStream:
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at_ms")
    timed = payments.assign_timestamps_and_watermarks(in_order)
    return (
        CEP.dynamic_patterns(
            timed.key_by("account"), documents, on_update="finish", refused_tag=REFUSED
        )
        .process(Alerts(), output_type=ALERT)
        .uid("small then large")
    )


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    documents = env.from_collection([document(250.0, 1), "{"], Types.STRING())
    alerts = build(env.from_collection(PAYMENTS, PAYMENT), documents)
    alerts.print()
    alerts.get_side_output(REFUSED).print()
    env.execute("small then large")


if __name__ == "__main__":
    main()
