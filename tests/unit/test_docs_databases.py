"""The programs of docs/sinks-databases.md and docs/elasticsearch.md run on real servers."""

from __future__ import annotations

import re
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from headrace.datastream import StreamExecutionEnvironment
from local_programs import run_locally

if TYPE_CHECKING:
    from pathlib import Path

    from search_servers import SearchServer
    from services import PostgresServer, RedisServer


@pytest.fixture
def shop(postgres: PostgresServer) -> str:
    """The database and the user of the page."""
    postgres.query("CREATE USER shop PASSWORD 'secret'")
    postgres.query("CREATE DATABASE shop OWNER shop")
    return f"postgresql://shop:secret@127.0.0.1:{postgres.port}/shop"


def test_the_programs_of_the_page_run(
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres: PostgresServer,
    redis_server: RedisServer,
    shop: str,
) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", run_locally)
    page = (repository / "docs" / "sinks-databases.md").read_text(encoding="utf-8")
    page = page.replace("127.0.0.1:5432", f"127.0.0.1:{postgres.port}")
    page = page.replace("redis://:secret@127.0.0.1:6379/0", redis_server.url)
    create, delete = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {"__name__": "snippet"}
    with psycopg.connect(shop, autocommit=True) as database:
        database.execute(create)
        for program in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            exec(compile(program, "sinks-databases.md", "exec"), names)
        orders = database.execute("SELECT * FROM orders ORDER BY id").fetchall()
        totals = database.execute("SELECT * FROM totals ORDER BY 1").fetchall()
        database.execute(delete)
    assert orders == [(1, "ann", 2.5), (2, "bob", 4.0), (3, "ann", 1.5), (4, "eve", 9.0)]
    assert totals == [("ann", 4.0), ("bob", 4.0)]
    with closing(redis_server.client()) as client:
        assert client.get("clicks:/home") == "2"
        assert [fields["user"] for _, fields in client.xrange("clicks")] == ["ann", "bob", "bob"]
        assert client.zscore("top", "/home") == 2
        assert client.smembers("users:/home") == {"ann", "bob"}


@pytest.mark.timeout(1500)  # the first test on a machine brings the server
def test_the_programs_of_the_elasticsearch_page_run(
    repository: Path, monkeypatch: pytest.MonkeyPatch, opensearch: SearchServer
) -> None:
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", run_locally)
    page = (repository / "docs" / "elasticsearch.md").read_text(encoding="utf-8")
    page = page.replace("127.0.0.1:9200", f"127.0.0.1:{opensearch.port}")
    names: dict[str, Any] = {"__name__": "snippet"}
    for program in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(program, "elasticsearch.md", "exec"), names)
    amounts = {key: d["amount"] for key, d in opensearch.documents("orders").items()}
    assert amounts == {"1": 2.5, "3": 1.5, "4": 9.0, "6": 1.0}
    (letter,) = opensearch.documents("dead-letters").items()
    assert letter[0] == "5"
    assert "failed to parse field [amount]" in letter[1]["reason"]
