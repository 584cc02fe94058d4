"""A real schema registry for tests: Apicurio's, which speaks Confluent's interface, on loopback.

In: nothing but Java and Spark's jars: the Ivy among them fetches the registry (140 MB), once, into
a cache of the user's.  Out: `RegistryServer`, and the fixture `schema_registry`, which
tests/conftest.py hands to all tests. Without a network the tests that need it are skipped, and
fail in CI.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib import request

import pytest

from headrace.connectors.kafka.local_broker import free_port
from headrace.io.maven_jars import ivy_jar
from services import Server, services_folder  # noqa: F401 - a fixture of ours uses it

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = "2.5.11.Final"
_NAME = "apicurio-registry-app"
_MODULE = f"""
<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="headrace" module="tests"/>
  <dependencies>
    <dependency org="io.apicurio" name="{_NAME}" rev="{VERSION}" transitive="false">
      <artifact name="{_NAME}" type="tar.gz" ext="tar.gz" m:classifier="all"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


def registry_jar() -> Path:
    """The registry's jar, with its libraries beside it; fetches them if they are not there.

    Raises:
        RuntimeError: they cannot be had.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "headrace"
    folder = cache / f"apicurio-{VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{folder.name}.lock").open(
        "w"
    ) as lock:  # two test runs may begin at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _fetch(folder)
    return next(folder.glob("*-runner.jar"))


def _fetch(folder: Path) -> None:
    unfinished = Path(tempfile.mkdtemp(dir=folder.parent))
    module = unfinished / "ivy.xml"
    module.write_text(_MODULE)
    command = ["java", f"-Divy.cache.dir={unfinished}/cache", "-jar", str(ivy_jar())]
    command += ["-ivy", str(module)]
    command += ["-retrieve", f"{unfinished}/[artifact]-[revision].[ext]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    archive = unfinished / f"{_NAME}-{VERSION}.tar.gz"
    if done.returncode or not archive.exists():
        shutil.rmtree(unfinished)
        raise RuntimeError(f"the schema registry could not be fetched: {done.stdout[-1000:]}")
    with tarfile.open(archive) as packed:
        packed.extractall(unfinished, filter="data")
    archive.unlink()
    shutil.rmtree(unfinished / "cache")
    unfinished.rename(folder)


class RegistryServer(Server):
    """A registry that keeps its schemas in memory: stopped, it forgets them."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        settings = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
        super().__init__(folder, port, ["java", "-Xmx384m", *settings, "-jar", str(registry_jar())])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def answers(self) -> bool:
        try:
            with request.urlopen(f"{self.url}/subjects", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@pytest.fixture(scope="session")
def schema_registry(services_folder: Path) -> Iterator[RegistryServer]:  # noqa: F811 - itself
    """A registry for the whole run; tests take subjects of their own."""
    try:
        registry_jar()
    except RuntimeError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))
    folder = services_folder / "registry"
    folder.mkdir()
    server = RegistryServer(folder)
    server.start()
    yield server
    server.stop()
