"""Sequences of logins that break the rules of a state machine, as two patterns.

            ┌── failure ──┐
            ▼             │
    out ── login ──▶ in ── work ──▶ in ── logout ──▶ out

guessed: five failures or more, then a login, within ten minutes, of one user.
uninvited: work without a login since the last logout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.cep import CEP, AfterMatchSkipStrategy, Pattern
from headrace.common import Duration, Row, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.expressions import col

if TYPE_CHECKING:
    from headrace.datastream import DataStream

EVENT = Types.ROW_NAMED(
    ["user", "kind", "address", "at_ms"],
    [Types.STRING(), Types.STRING(), Types.STRING(), Types.LONG()],
)
EVENTS = [
    *[Row("ada", "failure", f"10.0.0.{n}", 1_000 * n) for n in range(1, 7)],
    Row("ada", "login", "10.0.0.6", 8_000),
    Row("bob", "login", "10.0.0.9", 9_000),
    Row("bob", "work", "10.0.0.9", 10_000),
    Row("bob", "logout", "10.0.0.9", 11_000),
    Row("bob", "work", "10.0.0.3", 12_000),
]
# one alert for a guessed login, not one for each of its failures
ONCE = AfterMatchSkipStrategy.skip_past_last_event()


def guessed() -> Pattern:
    return (
        Pattern.begin("failures", ONCE)
        .where(col("kind") == "failure")
        .times_or_more(5)
        .greedy()
        .consecutive()
        .next("login")
        .where(col("kind") == "login")
        .where(from_an_address_of_the_failures)
        .within(Duration.of_minutes(10))
    )


def from_an_address_of_the_failures(login: Row, ctx: Any) -> bool:
    return any(login.address == each.address for each in ctx.get_events_for_pattern("failures"))


def uninvited() -> Pattern:
    return (
        Pattern.begin("logout", ONCE)
        .where(col("kind") == "logout")
        .not_followed_by("login")
        .where(col("kind") == "login")
        .followed_by("work")
        .where(col("kind") == "work")
        .within(Duration.of_hours(12))
    )


def build(events: DataStream) -> DataStream:
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner("at_ms")
    users = events.assign_timestamps_and_watermarks(in_order).key_by("user")
    guesses = CEP.pattern(users, guessed()).select(
        lambda match: f"{match['login'][0].user} logged in after {len(match['failures'])} failures",
        output_type=Types.STRING(),
    )
    strangers = CEP.pattern(users, uninvited()).select(
        lambda match: f"{match['work'][0].user} works without a login since the logout",
        output_type=Types.STRING(),
    )
    return guesses.uid("guessed").union(strangers.uid("uninvited"))


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env.from_collection(EVENTS, EVENT)).print()
    env.execute("logins")


if __name__ == "__main__":
    main()
