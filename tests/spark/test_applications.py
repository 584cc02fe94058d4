"""The programs of examples/applications on small data, with a real Kafka and a real Redis."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from headrace.table import EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from headrace.datastream import StreamExecutionEnvironment
    from kafka_broker import KafkaServer
    from services import RedisServer

    MakeEnv = Callable[..., StreamExecutionEnvironment]

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def application(repository: Path) -> Callable[[str], ModuleType]:
    def load(name: str) -> ModuleType:
        path = repository / "examples" / "applications" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"application_{name}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def send(kafka: KafkaServer, topic: str, rows: list[dict[str, Any]], *, key: str) -> None:
    """Rows as JSON; those of a key in one partition, in order."""
    kafka.send(topic, [{"key": str(row[key]), "value": json.dumps(row)} for row in rows])


def received(kafka: KafkaServer, topic: str) -> list[dict[str, Any]]:
    return [json.loads(message.value()) for message in kafka.read(topic)]


def ad_events(kafka: KafkaServer, topic: str, redis_server: RedisServer) -> Counter[Any]:
    """Puts events into a topic and campaigns into Redis; the views of (campaign, start in ms)."""
    start = 1_700_000_000_000
    events: list[dict[str, Any]] = [
        {
            "user_id": "u",
            "page_id": "p",
            "ad_type": "banner",
            "ip_address": "1.2.3.4",
            "ad_id": f"ad-{number % 7}",
            "event_type": ("view", "click", "purchase")[number % 3],
            "event_time": start + number * 100,
        }
        for number in range(600)
    ]
    with redis_server.client() as redis:
        redis.hset("ads", mapping={f"ad-{number}": f"c{number % 3}" for number in range(6)})
    kafka.send(topic, [json.dumps(event) for event in events])
    views: Counter[Any] = Counter()
    for event in events:
        if event["event_type"] == "view":
            number = int(event["ad_id"][3:])
            window = event["event_time"] // 10_000 * 10_000
            views["unknown" if number == 6 else f"c{number % 3}", window] += 1
    return views


def test_ad_campaigns_counts_views_and_nothing_else(
    application: Any, make_env: MakeEnv, kafka: KafkaServer, redis_server: RedisServer
) -> None:
    topic = kafka.create_topic(4)
    views = ad_events(kafka, topic, redis_server)
    env = make_env()

    application("ad_campaigns").build(env, kafka.bootstrap, topic, redis_server.url, bounded=True)
    env.execute("ads")

    with redis_server.client() as redis:
        found = {
            (campaign, int(window)): int(count)
            for campaign in ("c0", "c1", "c2", "unknown")
            for window, count in redis.hgetall(f"campaign:{campaign}").items()
        }
    assert found == dict(views)


def test_ad_campaigns_in_sql(
    application: Any, kafka: KafkaServer, redis_server: RedisServer
) -> None:
    topic = kafka.create_topic(4)
    views = ad_events(kafka, topic, redis_server)
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")

    program = application("ad_campaigns_sql")
    job = program.build(t_env, kafka.bootstrap, topic, redis_server.url, bounded=True)
    t_env.execute_sql(job).wait()

    with redis_server.client() as redis:
        hashes = [redis.hgetall(key) for key in redis.scan_iter("views:*")]
    found = {
        (each["campaign"], _millis(each["window_start"])): int(each["total"]) for each in hashes
    }
    assert found == dict(views)


def _millis(text: str) -> int:
    return int(datetime.fromisoformat(f"{text}+00:00").timestamp() * 1000)


def test_state_machine_tells_every_event_that_breaks_a_rule(
    application: Any, make_env: MakeEnv, kafka: KafkaServer
) -> None:
    topic, alerts = kafka.create_topic(4), kafka.create_topic(2)
    events = [{"address": f"a{n}", "kind": kind} for n in range(5) for kind in "abegab"]
    events += [{"address": "bad", "kind": kind} for kind in "aac"]
    send(kafka, topic, events, key="address")
    env = make_env()

    application("state_machine").build(env, kafka.bootstrap, topic, alerts, bounded=True)
    env.execute("machine")

    assert sorted(received(kafka, alerts), key=str) == [
        {"address": "bad", "state": "W", "kind": "a"},
        {"address": "bad", "state": "W", "kind": "c"},
    ]


def test_visitors_are_counted_once_a_window_and_country(
    application: Any, make_env: MakeEnv, kafka: KafkaServer, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create_topic(2)
    minute = 60_000
    visits = [
        *[("ann", "fi", 1_000), ("ann", "fi", 2_000), ("bob", "fi", 3_000), ("eve", "no", 4_000)],
        *[("bob", "fi", minute + 1_000)],
    ]
    rows = [{"visitor": v, "country": c, "at_ms": at} for v, c, at in visits]
    send(kafka, topic, rows, key="country")
    env = make_env()

    application("visitors").build(env, kafka.bootstrap, topic, bounded=True)
    env.execute("visitors")

    printed = {line for line in capfd.readouterr().out.splitlines() if "visitors" in line}
    assert {line.split("> ", 1)[1] for line in printed} == {"(fi,0,2)", "(no,0,1)", "(fi,60000,1)"}


def test_fraud_is_a_small_payment_and_a_large_one_within_a_minute(
    application: Any, make_env: MakeEnv, kafka: KafkaServer
) -> None:
    payments, rules, alerts = kafka.create_topic(2), kafka.create_topic(1), kafka.create_topic(1)
    rows = [
        *[(1, 0.5, 1_000), (1, 900.0, 20_000)],  # fraud
        *[(2, 0.5, 1_000), (2, 900.0, 70_000)],  # too late
        *[(3, 0.5, 1_000), (3, 20.0, 2_000), (3, 900.0, 3_000)],  # not one behind the other
        *[(4, 600.0, 1_000)],
    ]
    sent = [{"account": a, "amount": amount, "at_ms": at} for a, amount, at in rows]
    send(kafka, payments, sent, key="account")
    env = make_env()

    application("fraud").build(env, kafka.bootstrap, payments, rules, alerts, bounded=True)
    env.execute("fraud")

    assert received(kafka, alerts) == [{"account": 1, "amount": 900.0}]


def test_sensors_tell_of_smoke_that_follows_heat_within_ten_minutes(
    application: Any, make_env: MakeEnv, kafka: KafkaServer, capfd: pytest.CaptureFixture[str]
) -> None:
    topic = kafka.create_topic(2)
    minute = 60_000
    readings = [
        *[("attic", 70.0, False, 0), ("attic", 40.0, True, 9 * minute)],
        *[("cellar", 70.0, False, 0), ("cellar", 20.0, True, 11 * minute)],
        *[("hall", 20.0, True, 5 * minute)],
    ]
    rows = [{"room": r, "celsius": c, "smoke": s, "at_ms": at} for r, c, s, at in readings]
    send(kafka, topic, rows, key="room")
    env = make_env()

    application("sensors").build(env, kafka.bootstrap, topic, bounded=True)
    env.execute("sensors")

    told = [line for line in capfd.readouterr().out.splitlines() if "fire in" in line]
    assert [line[line.index("fire") :] for line in told] == [
        "fire in attic: hot at 0, smoke at 540000"
    ]


def test_grep_copies_what_matches(application: Any, make_env: MakeEnv, kafka: KafkaServer) -> None:
    topic, to = kafka.create_topic(3), kafka.create_topic(1)
    kafka.send(topic, [f"{'ERROR' if n % 10 == 0 else 'fine'} {n}" for n in range(100)])
    env = make_env()

    application("grep").build(env, kafka.bootstrap, topic, to, "ERROR|FATAL", bounded=True)
    env.execute("grep")

    found = sorted(message.value() for message in kafka.read(to))
    assert found == sorted(b"ERROR %d" % n for n in range(0, 100, 10))
