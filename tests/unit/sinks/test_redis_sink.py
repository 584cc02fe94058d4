"""What a Redis sink applies, once, whatever breaks, and what it refuses."""

from __future__ import annotations

import decimal
import itertools
import logging
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from flaky_proxy import FlakyProxy
from headrace.common.types import Row, RowKind
from headrace.connectors.redis import writer as redis_writer
from headrace.datastream.connectors.redis import RedisSink, Retries
from headrace.errors import (
    ConnectorError,
    EnvironmentSetupError,
    HeadraceError,
    InvalidArgumentError,
    TypeMismatchError,
)
from headrace.spi import staging
from headrace.spi.sink import WriterContext
from headrace.testing.connectors import SinkDriver

if TYPE_CHECKING:
    from collections.abc import Iterator

    from services import RedisServer

ONCE = Retries(attempts=1)
PATIENT = Retries(attempts=4, first_delay_s=0.01)
_names = (f"k{n}" for n in itertools.count())


@pytest.fixture
def client(redis_server: RedisServer) -> Iterator[Any]:
    with closing(redis_server.client()) as made:
        yield made


@pytest.fixture
def key() -> str:
    return next(_names)


@pytest.fixture(params=["inline", "staged"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Commands travel with the committable, or wait in a list in Redis."""
    if request.param == "staged":
        monkeypatch.setattr(staging, "INLINE_BYTES", -1)
        monkeypatch.setattr(redis_writer, "CHUNK_BYTES", 60)
        monkeypatch.setattr(redis_writer, "_PUSH_CHUNKS", 2)
    return str(request.param)


def own_keys(client: Any, driver: SinkDriver) -> list[str]:
    """Headrace's own keys for a job; only the marker should outlive a batch."""
    keys = driver.committer.keys  # type: ignore[attr-defined]
    return sorted(key.rpartition(":")[2] for key in client.keys(f"{keys.base}*"))


def told(error: HeadraceError, *parts: str) -> None:
    assert error.where
    assert error.fix
    for part in parts:
        assert part in str(error)
    assert "s3cret" not in str(error)


def test_set_keeps_the_newest_value(
    redis_server: RedisServer, client: Any, key: str, way: str
) -> None:
    sink = RedisSink.set(redis_server.url, lambda r: f"{key}:{r[0]}", lambda r: r[1], expire_s=900)
    driver = SinkDriver(sink)
    driver.run(0, [("a", 1), ("b", 1.5), ("a", 2)], [("c", "€"), ("d", decimal.Decimal("1.10"))])
    assert [client.get(f"{key}:{name}") for name in "abcd"] == ["2", "1.5", "€", "1.10"]
    assert 0 < client.ttl(f"{key}:a") <= 900
    assert own_keys(client, driver) == ["marker"]


def test_hset_sets_fields_and_follows_the_kinds_of_rows(
    redis_server: RedisServer, client: Any, key: str, way: str
) -> None:
    sink = RedisSink.hset(
        redis_server.url, lambda r: f"{key}:{r.id}", lambda r: {"name": r.name, "n": 1}
    )
    driver = SinkDriver(sink)
    insert, before, after, delete = RowKind
    driver.run(0, [Row(id=1, name="a"), Row(id=2, name="b")])
    driver.run(
        1,
        [
            Row.of_kind(before, id=1, name="a"),
            Row.of_kind(after, id=1, name="A"),
            Row.of_kind(delete, id=2, name="b"),
            Row.of_kind(insert, id=3, name="c"),
        ],
    )
    assert client.hgetall(f"{key}:1") == {"name": "A", "n": "1"}
    assert client.hgetall(f"{key}:3") == {"name": "c", "n": "1"}
    assert not client.exists(f"{key}:2")


def test_rows_of_kind_delete_delete_what_was_set(
    redis_server: RedisServer, client: Any, key: str
) -> None:
    driver = SinkDriver(RedisSink.set(redis_server.url, key, lambda r: r[0]))
    driver.run(0, [Row(1), Row.of_kind(RowKind.UPDATE_BEFORE, 1), Row.of_kind(RowKind.DELETE, 1)])
    assert not client.exists(key)


def test_commands_that_add_up_are_applied_once(
    redis_server: RedisServer, client: Any, key: str, way: str
) -> None:
    url = redis_server.url
    sinks = [
        RedisSink.incrby(url, f"{key}:sum", lambda n: n),
        RedisSink.rpush(url, f"{key}:list", lambda n: n),
        RedisSink.xadd(url, f"{key}:stream", lambda n: {"n": n}, maxlen=1000),
        RedisSink.commands(
            url, lambda n: [("ZINCRBY", f"{key}:top", n, "x"), ("APPEND", f"{key}:text", b"\x00")]
        ),
    ]
    for sink in sinks:
        driver = SinkDriver(sink)
        driver.run(0, [1, 2, 3], [10, 20], [])
        driver.run(1, [4])
        driver.run(1, [4])
        # The driver died before it could note that batch 1 was through.
        driver.restart()
        driver.stage(1, [4])
        driver.run(1, [4, 99])
        driver.run(2, [5])
        assert own_keys(client, driver) == ["marker"]
    assert client.get(f"{key}:sum") == "45"
    assert client.lrange(f"{key}:list", 0, -1) == ["1", "2", "3", "10", "20", "4", "5"]
    stream = [fields["n"] for _, fields in client.xrange(f"{key}:stream")]
    assert stream == ["1", "2", "3", "10", "20", "4", "5"]
    assert client.zscore(f"{key}:top", "x") == 45
    assert client.strlen(f"{key}:text") == 7


def test_a_job_that_starts_afresh_counts_from_zero_again(
    redis_server: RedisServer, client: Any, key: str
) -> None:
    sink = RedisSink.incrby(redis_server.url, key, lambda n: n)
    first = SinkDriver(sink)
    first.run(0, [1])
    first.run(5, [1])
    SinkDriver(sink).run(0, [10])
    SinkDriver(sink, job_id=first.job_id, uid="other").run(0, [100])
    assert client.get(key) == "112"


def test_a_batch_of_many_commands_is_applied_in_several_calls(
    redis_server: RedisServer, client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_writer, "CHUNK_BYTES", 200)
    sink = RedisSink.rpush(redis_server.url, key, lambda n: n)
    object.__setattr__(sink._target, "commands_per_call", 10)
    driver = SinkDriver(sink)
    driver.run(0, list(range(500)), list(range(500, 700)))
    driver.run(0, list(range(500)))
    assert client.lrange(key, 0, -1) == [str(n) for n in range(700)]
    assert own_keys(client, driver) == ["marker"]


def test_what_nobody_asked_for_goes_away(
    redis_server: RedisServer, client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "INLINE_BYTES", -1)
    driver = SinkDriver(RedisSink.incrby(redis_server.url, key, lambda n: n))
    driver.run(0, [1])
    driver.stage(1, [1], [2])
    left = [k for k in own_keys(client, driver) if k not in ("marker", "staged")]
    assert len(left) == 2
    keys = driver.committer.keys  # type: ignore[attr-defined]
    assert all(client.ttl(part) > 6 * 86_400 for part in client.smembers(keys.staged))
    driver.run(1, [3])
    assert client.get(key) == "4"
    assert own_keys(client, driver) == ["marker"]


# faults


@pytest.mark.parametrize("deliver", [False, True], ids=["lost", "answer lost"])
@pytest.mark.parametrize("retries", [ONCE, PATIENT], ids=["once", "patient"])
def test_a_connection_that_breaks_at_any_moment(
    redis_server: RedisServer, client: Any, key: str, way: str, retries: Retries, deliver: bool
) -> None:
    with FlakyProxy(redis_server.port) as proxy:
        url = redis_server.url.replace(str(redis_server.port), str(proxy.port))
        driver = SinkDriver(RedisSink.rpush(url, key, lambda n: n, retries=retries))
        for moment in range(15):
            proxy.cut_at(moment, deliver=deliver)
            try:
                driver.run(moment, [3 * moment, 3 * moment + 1], [3 * moment + 2])
            except ConnectorError:
                assert retries is ONCE
                assert client.llen(key) in (3 * moment, 3 * moment + 3)
                proxy.heal()
                driver.restart()
                driver.run(moment, [3 * moment, 3 * moment + 1], [3 * moment + 2])
            proxy.heal()
        assert client.lrange(key, 0, -1) == [str(n) for n in range(45)]
        assert proxy.cuts >= 5
        driver.run(15, [45])
        assert own_keys(client, driver) == ["marker"]


def test_two_drivers_of_one_job_apply_a_batch_once(
    redis_server: RedisServer, client: Any, key: str, way: str
) -> None:
    sink = RedisSink.incrby(redis_server.url, key, lambda n: n)
    drivers = [SinkDriver(sink, job_id=f"twins-{key}") for _ in range(4)]
    errors: list[BaseException] = []

    def commit(driver: SinkDriver, part: list[Any], start: threading.Barrier) -> None:
        try:
            committer = driver.committer
            start.wait()
            committer.commit(0, part)
        except BaseException as error:
            errors.append(error)

    start = threading.Barrier(len(drivers))
    threads = [
        threading.Thread(target=commit, args=(driver, driver.stage(0, [1, 2]), start))
        for driver in drivers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert client.get(key) == "3"


def test_a_server_that_restarts_remembers(
    redis_server: RedisServer, client: Any, key: str, way: str
) -> None:
    driver = SinkDriver(RedisSink.incrby(redis_server.url, key, lambda n: n, retries=PATIENT))
    driver.run(0, [1])
    parts = driver.stage(1, [1])
    redis_server.stop()
    redis_server.start()
    driver.committer.commit(1, parts)
    driver.committer.commit(1, parts)
    assert client.get(key) == "2"


def test_staged_commands_that_are_gone_are_noticed(
    redis_server: RedisServer, client: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "INLINE_BYTES", -1)
    driver = SinkDriver(RedisSink.incrby(redis_server.url, key, lambda n: n))
    parts = driver.stage(0, [1])
    client.delete(parts[0].place)
    with pytest.raises(ConnectorError, match="1 chunks were written, 0 were found") as caught:
        driver.committer.commit(0, parts)
    told(caught.value, "is repeated")
    driver.run(0, [1])
    assert client.get(key) == "1"


def test_a_server_that_lost_its_memory_is_noticed(
    redis_server: RedisServer, client: Any, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    driver = SinkDriver(RedisSink.incrby(redis_server.url, key, lambda n: n))
    driver.run(0, [1])
    driver.run(1, [1])
    client.delete(driver.committer.keys.marker)  # type: ignore[attr-defined]
    with caplog.at_level(logging.WARNING):
        driver.run(2, [1])
    assert "has forgotten batches 0 to 1" in caplog.text
    assert "s3cret" not in caplog.text


# what is refused


def write(sink: RedisSink, record: Any) -> None:
    """What a worker does, without a server."""
    writer = sink.create_writer(WriterContext(0, 1, "try-1", "job", "sink", 0))
    writer.write([record], None)
    writer.prepare_commit()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("RPUSH", "{key}:text", "x"), "holds a string, the command needs a list"),
        (("INCRBY", "{key}:text", 1), "not a whole number"),
        (("HSET", "{key}:list", "a", 1), "holds a list, the command needs a hash"),
        (("RPUHS", "{key}:list", "x"), "Redis has no command RPUHS"),
        (("SET", "{key}:text"), "wrong number of arguments for SET"),
        (("get", "{key}:text", "x"), "wrong number of arguments for GET"),
        (("SUBSCRIBE", "x"), "SUBSCRIBE cannot be part of a batch"),
    ],
)
def test_a_command_that_cannot_work_stops_the_batch_before_anything_is_written(
    redis_server: RedisServer, client: Any, key: str, way: str, command: Any, message: str
) -> None:
    client.set(f"{key}:text", "abc")
    client.rpush(f"{key}:list", 1)

    def commands(record: str) -> list[Any]:
        if record == "good":
            return [("INCRBY", f"{key}:n", 1)]
        return [tuple(str(part).format(key=key) for part in command)]

    driver = SinkDriver(RedisSink.commands(redis_server.url, commands))
    with pytest.raises(ConnectorError) as caught:
        driver.run(0, ["good"] * 5 + ["bad"], ["good"])
    told(caught.value, message, "nothing was written", f"the command is {command[0]}")
    assert not client.exists(f"{key}:n")
    # The program was mended: the batch has other commands now.
    driver.restart()
    driver.run(0, ["good"] * 6)
    assert client.get(f"{key}:n") == "6"
    assert own_keys(client, driver) == ["marker"]


def test_a_batch_that_fails_in_the_middle_goes_on_where_it_stopped(
    redis_server: RedisServer, client: Any, key: str, way: str
) -> None:
    client.hset(f"{key}:hash", "field", "text")

    def commands(n: int) -> list[Any]:
        middle = [("HINCRBY", f"{key}:hash", "field", n)] if n == 3 else []
        return [("RPUSH", f"{key}:list", n), *middle]

    driver = SinkDriver(RedisSink.commands(redis_server.url, commands))
    for _ in range(3):
        with pytest.raises(ConnectorError, match="hash value is not an integer") as caught:
            driver.run(0, [1, 2, 3, 4], [5])
        told(caught.value, "HINCRBY", "continues with this command", "DEL headrace:{")
        assert client.lrange(f"{key}:list", 0, -1) == ["1", "2", "3"]
        driver.restart()
    client.hdel(f"{key}:hash", "field")
    driver.run(0, [1, 2, 3, 4], [5])
    driver.run(1, [6])
    assert client.lrange(f"{key}:list", 0, -1) == ["1", "2", "3", "4", "5", "6"]
    assert client.hget(f"{key}:hash", "field") == "3"
    assert own_keys(client, driver) == ["marker"]


def test_the_rest_of_a_batch_can_be_given_up(
    redis_server: RedisServer, client: Any, key: str
) -> None:
    client.hset(key, "field", "text")
    driver = SinkDriver(
        RedisSink.commands(redis_server.url, lambda n: [("HINCRBY", key, "field" if n else "f", 1)])
    )
    with pytest.raises(ConnectorError):
        driver.run(0, [0, 1, 0])
    client.delete(driver.committer.keys.queue)  # type: ignore[attr-defined]
    driver.restart()
    driver.run(0, [0, 1, 0])
    driver.run(1, [0])
    assert client.hgetall(key) == {"field": "text", "f": "2"}
    assert own_keys(client, driver) == ["marker"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("SET a b", "is not a command"),
        ((), "is not a command"),
        ((1, "a"), "is not a command"),
        (("SET", "a", None), r"None \(NoneType\) in SET"),
        (("SET", "a", True), r"True \(bool\) in SET"),
        (("SET", "a", {"b": 1}), "has no form in Redis"),
        (("RPUSH", *"x" * 4000), "4001 arguments"),
    ],
)
def test_what_is_no_command_is_refused_in_the_worker(command: Any, message: str) -> None:
    sink = RedisSink.commands("redis://:s3cret@127.0.0.1:1", lambda _: [command])
    with pytest.raises(TypeMismatchError, match=message) as caught:
        write(sink, "record")
    told(caught.value)


def test_the_longest_command_works(redis_server: RedisServer, client: Any, key: str) -> None:
    driver = SinkDriver(RedisSink.commands(redis_server.url, lambda n: [("RPUSH", key, *range(n))]))
    driver.run(0, [3998])
    assert client.llen(key) == 3998


def test_rows_that_take_back_cannot_be_added() -> None:
    url = "redis://127.0.0.1:1"
    row = Row.of_kind(RowKind.DELETE, 1)
    for sink in (
        RedisSink.incrby(url, "k", lambda r: r[0]),
        RedisSink.rpush(url, "k", lambda r: r[0]),
        RedisSink.xadd(url, "k", lambda r: {"n": r[0]}),
    ):
        with pytest.raises(TypeMismatchError, match="kind -D, but"):
            write(sink, row)


def test_a_wrong_password_is_not_tried_again(redis_server: RedisServer) -> None:
    retries = Retries(attempts=9, first_delay_s=60)
    url = redis_server.url.replace("s3cret%20pass", "s3cret")
    with pytest.raises(ConnectorError, match="invalid username-password") as caught:
        _ = SinkDriver(RedisSink.set(url, "k", str, retries=retries)).committer
    told(caught.value, "check user and password")
    url = f"redis://127.0.0.1:{redis_server.port}"
    with pytest.raises(ConnectorError, match="uthenticat") as caught:
        _ = SinkDriver(RedisSink.set(url, "k", str, retries=retries)).committer
    told(caught.value, "check user and password")


def test_a_server_that_is_away_is_told() -> None:
    sink = RedisSink.set("redis://me:s3cret@127.0.0.1:1", "k", str, retries=PATIENT)
    with pytest.raises(ConnectorError, match="refused") as caught:
        _ = SinkDriver(sink).committer
    told(caught.value, "check that the server runs", "Redis at redis://me:***@127.0.0.1:1")


def test_a_user_without_rights_is_told(redis_server: RedisServer, client: Any, key: str) -> None:
    client.execute_command("ACL", "SETUSER", key, "on", ">pw", "~headrace*", "+@all")
    url = f"redis://{key}:pw@127.0.0.1:{redis_server.port}"
    driver = SinkDriver(RedisSink.set(url, key, str))
    with pytest.raises(ConnectorError, match=r"permission|access") as caught:
        driver.run(0, [1])
    told(caught.value)
    assert not client.exists(key)


def test_arguments_are_checked_when_the_sink_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    for url in ("http://:s3cret@host", "nonsense", 5):
        with pytest.raises(InvalidArgumentError, match="is not a Redis URL") as caught:
            RedisSink.set(url, "k", str)  # type: ignore[arg-type]
        told(caught.value)
    with pytest.raises(InvalidArgumentError, match="is not a function"):
        RedisSink.commands("redis://h", "SET")  # type: ignore[arg-type]
    assert "***" in repr(RedisSink.set("redis://a:s3cret@h", "k", str))
    assert "s3cret" not in repr(RedisSink.set("redis://a:s3cret@h", "k", str))
    monkeypatch.setitem(__import__("sys").modules, "redis", None)
    with pytest.raises(EnvironmentSetupError, match="redis") as missing:
        RedisSink.set("redis://h", "k", str)
    told(missing.value, "pip install 'headrace[redis]'")
