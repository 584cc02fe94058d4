"""OpenSearch and Elasticsearch for tests: real servers on loopback, from Maven Central.

A server is one node in a process of its own, with a free port and a temporary directory; its jars
are in a cache of the user's (headrace.io.maven_jars). Without network, or without a JDK, tests are
skipped with the reason; in CI they fail.

HEADRACE_TEST_ELASTICSEARCH=http://127.0.0.1:9200 names a server of your own, of any version, to
stand in for Elasticsearch; tests write to indices that begin with headrace-test-.

Next: the fixtures `opensearch` and `elasticsearch` at the end; bulk_server.py is a small one
with faults.
"""

from __future__ import annotations

import json
import os
import shutil
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from headrace.connectors.kafka.local_broker import free_port
from headrace.errors import ConnectorError
from headrace.io.maven_jars import jars_of
from services import Server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWN_SERVER = "HEADRACE_TEST_ELASTICSEARCH"


@dataclass(frozen=True)
class Distribution:
    """Where a server comes from; both descend from one code base, so one program starts both."""

    name: str
    version: str
    log4j: str

    @property
    def group(self) -> str:
        return f"org.{self.name}"

    def artifacts(self) -> list[tuple[str, str, str]]:
        return [
            (self.group, self.name, self.version),
            (f"{self.group}.plugin", "transport-netty4-client", self.version),
            ("org.apache.logging.log4j", "log4j-core", self.log4j),
        ]

    def program(self) -> str:
        return _PROGRAM.replace("GROUP", self.group)


OPENSEARCH = Distribution("opensearch", "2.19.1", "2.21.0")
ELASTICSEARCH = Distribution("elasticsearch", "7.17.28", "2.17.1")

# A node as the servers' own tests start one: without the checks of the machine, and as any user.
_PROGRAM = """
import java.util.List;
import java.util.Map;
import GROUP.common.settings.Settings;
import GROUP.env.Environment;
import GROUP.node.InternalSettingsPreparer;
import GROUP.node.Node;
import GROUP.transport.Netty4Plugin;

public class TestNode extends Node {
    TestNode(Environment environment) {
        super(environment, List.of(Netty4Plugin.class), false);
    }

    public static void main(String[] arguments) throws Exception {
        Settings settings = Settings.builder()
            .put("path.home", arguments[0])
            .put("http.port", arguments[1])
            .put("transport.port", "0")
            .put("network.host", "127.0.0.1")
            .put("node.name", "test")
            .put("discovery.type", "single-node")
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        Node node = new TestNode(
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "test"));
        node.start();
        Thread.currentThread().join();
    }
}
"""


def _give_up(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


class SearchServer(Server):
    """A node; tests use indices of their own."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answers(self) -> bool:
        try:
            return "version" in ask(f"{self.url}/")
        except OSError:
            return False

    def documents(self, index: str) -> dict[str, Any]:
        return documents(self.url, index)


@dataclass
class OwnServer:
    """A server that the user named."""

    url: str

    def documents(self, index: str) -> dict[str, Any]:
        return documents(self.url, index)


def ask(url: str, method: str = "GET", body: Any = None) -> Any:
    """One request; 404 gives an empty answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return {}


def documents(url: str, index: str) -> dict[str, Any]:
    """All documents of an index, by id."""
    ask(f"{url}/{index}/_refresh", "POST")
    found = ask(f"{url}/{index}/_search?size=10000").get("hits", {"hits": []})["hits"]
    return {hit["_id"]: hit["_source"] for hit in found}


def new_search_server(wanted: Distribution, folder: Path) -> SearchServer:
    if shutil.which("javac") is None:
        _give_up("a JDK is needed to start a search server: javac is missing")
    try:
        jars = jars_of(f"{wanted.name}-{wanted.version}", wanted.artifacts())
    except ConnectorError as error:
        _give_up(str(error))
    (folder / "config").mkdir()
    (folder / "TestNode.java").write_text(wanted.program())
    port = free_port()
    command = ["java", "-Xmx384m", "-cp", f"{jars}/*", "TestNode.java", str(folder), str(port)]
    return SearchServer(folder, port, command)


def _running(wanted: Distribution, services_folder: Path) -> Iterator[SearchServer]:
    folder = services_folder / wanted.name
    folder.mkdir()
    server = new_search_server(wanted, folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def opensearch(services_folder: Path) -> Iterator[SearchServer]:
    """An OpenSearch node for the whole run."""
    yield from _running(OPENSEARCH, services_folder)


@pytest.fixture(scope="session")
def elasticsearch(services_folder: Path) -> Iterator[SearchServer | OwnServer]:
    """An Elasticsearch node for the whole run, or the user's own server."""
    own = os.environ.get(OWN_SERVER)
    if own:
        yield OwnServer(own.rstrip("/"))
    else:
        yield from _running(ELASTICSEARCH, services_folder)
