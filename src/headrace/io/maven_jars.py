"""Servers written in Java: their jars from Maven Central, by the Ivy among Spark's jars.

In: which artifacts.  Out: a folder with their jars and those that they need, in a cache directory
of the user's: brought once, whole or not at all.  Next: connectors/kafka/local_broker.py
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import subprocess
import tempfile
from pathlib import Path

from headrace.errors import ConnectorError

_PATIENCE_S = 900


def jars_of(name: str, artifacts: list[tuple[str, str, str]]) -> Path:
    """The folder with the jars.

    Args:
        name: of the folder; it should have the version in it.
        artifacts: group, name and version of each.

    Raises:
        ConnectorError: they cannot be had.
    """
    cache = _cache()
    cache.mkdir(parents=True, exist_ok=True)
    folder = cache / name
    with (cache / f"{name}.lock").open("w") as lock:  # two test runs may begin at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _bring(folder, artifacts)
    return folder


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headrace"


def _bring(folder: Path, artifacts: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:
        scratch = Path(made)
        (scratch / "ivy.xml").write_text(_ivy_file(artifacts))
        command = [java(), f"-Divy.cache.dir={scratch}/cache", "-jar", str(ivy_jar())]
        command += ["-ivy", "ivy.xml", "-confs", "default", "-types", "jar", "bundle"]
        command += ["-retrieve", f"{scratch}/jars/[artifact]-[revision](-[classifier]).[ext]"]
        done = subprocess.run(
            command, cwd=scratch, capture_output=True, text=True, check=False, timeout=_PATIENCE_S
        )
        if done.returncode or not (scratch / "jars").exists():
            said = (done.stdout + done.stderr)[-1000:]
            raise ConnectorError(
                f"{folder.name} cannot be had from Maven Central: {said}",
                fix="check that this machine reaches the network; what was brought before stays",
            )
        (scratch / "jars").rename(folder)


def java() -> str:
    """The Java that Spark would take: that of JAVA_HOME, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def has_jars(name: str) -> bool:
    """Whether the folder is there already, so that nothing need be brought."""
    return (_cache() / name).exists()


def ivy_jar() -> Path:
    """Spark's own Ivy."""
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    return next((Path(found.origin).parent / "jars").glob("ivy-*.jar"))


def _ivy_file(artifacts: list[tuple[str, str, str]]) -> str:
    wanted = "".join(
        f'<dependency org="{group}" name="{name}" rev="{version}" conf="default->default"/>'
        for group, name, version in artifacts
    )
    return (
        '<ivy-module version="2.0"><info organisation="headrace" module="servers"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{wanted}</dependencies></ivy-module>"
    )
