"""PyFlink's examples that need a server do on headrace what they do on PyFlink.

In: server_examples.py, server_examples.json.  `make test` runs all of them without Spark and one
as a program on Spark; `make oracle` runs all of them on Spark, and PyFlink again.
"""

from __future__ import annotations

import base64
import os
import runpy
from typing import TYPE_CHECKING, Any

import pytest

from bulk_server import BulkServer
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from oracle import examples, server_examples, session
from skips import give_up

if TYPE_CHECKING:
    from pathlib import Path

    from kafka_broker import KafkaServer
    from search_servers import SearchServer

FULL = os.environ.get("HEADRACE_ORACLE") == "full"
ON_SPARK = tuple(server_examples.KAFKA) if FULL else ("connectors/kafka_json_format",)


@pytest.fixture(scope="module", autouse=True)
def _sources() -> None:
    reason = session.missing_reason()
    if reason is not None:
        give_up(reason)


@pytest.mark.parametrize("name", server_examples.KAFKA)
def test_a_kafka_example_prints_and_writes_what_pyflink_does(name: str, kafka: KafkaServer) -> None:
    found = server_examples.on_headrace(name, kafka, HEADRACE_EXECUTION_HOST="local")
    assert found == server_examples.stored()[name]


@pytest.mark.spark
@pytest.mark.parametrize("name", ON_SPARK)
def test_a_kafka_example_does_the_same_on_spark(name: str, kafka: KafkaServer) -> None:
    found = server_examples.on_headrace(name, kafka)
    expected = server_examples.stored()[name]
    if not server_examples.KAFKA[name].reads:
        # What its function prints is on the standard error of Spark's workers.
        del found["prints"], expected["prints"]
    assert found == expected


@pytest.mark.skipif(not FULL, reason="runs PyFlink on every example: make oracle")
@pytest.mark.parametrize("name", server_examples.KAFKA)
def test_pyflink_still_does_what_is_stored(name: str, kafka: KafkaServer) -> None:
    assert server_examples.on_pyflink(name, kafka) == server_examples.stored()[name]


@pytest.mark.parametrize("version", [6, 7])
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_the_elasticsearch_example_writes_its_documents(
    version: int, tmp_path: Path, *, dynamic: bool
) -> None:
    """Its four jobs, each with a server that has the path and the password that the job names."""
    names = f"write_to_es{version}" + ("_dynamic_index" if dynamic else "")
    login = base64.b64encode(b"foo:bar").decode()
    wanted: Any = {} if dynamic else {"prefix": "/foo-bar", "authorization": f"Basic {login}"}
    with BulkServer(**wanted) as server:
        _elasticsearch_example(tmp_path, server.url)[names](_local_environment(tmp_path))
    ada, luna = {"name": "ada", "id": "1"}, {"name": "luna", "id": "2"}
    expected = (
        {"ada": {"1": ada}, "luna": {"2": luna}} if dynamic else {"foo": {"1": ada, "2": luna}}
    )
    assert server.stored == expected
    types = {meta.get("_type") for request in server.requests for _, meta, _ in request.actions}
    assert types == ({"bar"} if version == 6 else {None})


def test_the_elasticsearch_example_writes_to_a_real_server(
    tmp_path: Path, opensearch: SearchServer
) -> None:
    """The job that names neither a path nor a password."""
    names = _elasticsearch_example(tmp_path, opensearch.url)
    names["write_to_es7_dynamic_index"](_local_environment(tmp_path))
    assert opensearch.documents("ada") == {"1": {"name": "ada", "id": "1"}}
    assert opensearch.documents("luna") == {"2": {"name": "luna", "id": "2"}}


def _elasticsearch_example(tmp_path: Path, url: str) -> dict[str, Any]:
    source = examples.for_headrace("connectors/elasticsearch")
    assert "localhost:9200" in source
    script = tmp_path / "example.py"
    script.write_text(source.replace("localhost:9200", url.removeprefix("http://")))
    return runpy.run_path(str(script), run_name="example")


def _local_environment(tmp_path: Path) -> StreamExecutionEnvironment:
    config = Configuration.from_dict(
        {
            "headrace.execution.host": "local",
            "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
        }
    )
    return StreamExecutionEnvironment.get_execution_environment(config)
