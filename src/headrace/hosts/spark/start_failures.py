"""What it means that Spark could not be started: one error, instead of what Java says of it.

In: what pyspark raised, and what the JVM wrote meanwhile (quiet.py).  Out: an
`EnvironmentSetupError`; the whole of it goes to the log at level DEBUG.  Next: session.py
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from headrace.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

log = logging.getLogger(__name__)

_MASTERS = "local[2], local[*], spark://host:7077, yarn, or k8s://https://host:6443"
# files that Spark gives to a job; of those that are missing it only writes a line of its log
_FILES = ("spark.files", "spark.archives", "spark.submit.pyFiles")
# programs from Flink name the jars of its connectors here, which nothing in headrace needs
_JARS = "spark.jars"
_JAVA_CLASS = re.compile(r"^(Caused by: )?[\w.$]+(Exception|Error): ")
_IN_USE = re.compile(r"Service '(\w+)' failed after \d+ retries \(starting from (\d+)\)")


def check_files(settings: Mapping[str, str]) -> None:
    """Refuse files of this machine that are not there, and tell of jars that are not.

    Raises:
        EnvironmentSetupError: which names the first one.
    """
    for name in _missing(settings, _JARS):
        log.warning("%s names %s, and there is no such file: Spark does without it", _JARS, name)
    for key in _FILES:
        for name in _missing(settings, key):
            raise EnvironmentSetupError(
                f"{key} names {name}, and there is no such file",
                where=key,
                fix="correct the path; files elsewhere have a scheme, such as hdfs:// or s3a://",
            )


def _missing(settings: Mapping[str, str], key: str) -> Iterator[str]:
    for name in filter(None, (each.strip() for each in settings.get(key, "").split(","))):
        place = urlparse(name)
        is_pattern = any(letter in place.path for letter in "*?[{")  # Spark expands it
        if place.scheme in ("", "file") and not is_pattern and not Path(place.path).exists():
            yield name


def start_failure(error: BaseException, master: str, said: Sequence[str]) -> EnvironmentSetupError:
    """The error for a start that failed.

    Args:
        error: what pyspark raised.
        master: Spark's master URL.
        said: the lines that the JVM wrote meanwhile.
    """
    log.debug("Spark did not start: %s\n%s", error, "".join(said))
    text = "\n".join([str(error), *said])
    where = f"spark.master {master}"
    if "Could not parse Master URL" in text:
        return EnvironmentSetupError(
            f"Spark does not know what the master {master!r} is", where=where, fix=f"use {_MASTERS}"
        )
    in_use = _IN_USE.search(text)
    if in_use is not None:
        service, port = in_use.groups()
        return EnvironmentSetupError(
            f"Spark's service {service} cannot have port {port}: it is in use, or not of this "
            "machine's address",
            where=where,
            fix="free the port, set another one (spark.driver.port, spark.ui.port, ...; 0 takes a "
            "free one), or let Spark try the next ones with a higher spark.port.maxRetries",
        )
    if master.startswith("spark://") and _NO_MASTER.search(text):
        return EnvironmentSetupError(
            f"Spark's master {master} does not answer{_because(said)}",
            where=where,
            fix="start it (sbin/start-master.sh), or correct host and port of spark.master; the "
            "master's web page shows its URL. A firewall must let this machine through",
        )
    return EnvironmentSetupError(
        f"Spark could not be started: {_telling(str(error), said)}",
        where=where,
        fix="correct the spark.* settings; all that Spark has said is in the log of "
        f"{__name__} at level DEBUG",
    )


_NO_MASTER = re.compile(r"All masters are unresponsive|Failed to connect to master")


def _because(said: Sequence[str]) -> str:
    """The innermost reason that Java gives."""
    reasons = [line.strip() for line in said if line.startswith("Caused by: ")]
    return f": {_JAVA_CLASS.sub('', reasons[-1])[:200]}" if reasons else ""


def _telling(text: str, said: Sequence[str]) -> str:
    """The line that says most: the first of Java's error, or the JVM's own first words."""
    lines = [line.strip(" :\n") for line in text.splitlines()]
    errors = [line for line in lines if _JAVA_CLASS.match(line)]
    if errors:
        return _JAVA_CLASS.sub("", errors[0])[:300]
    own = [line.strip() for line in said if line.strip() and not line.startswith(("\t", " "))]
    return (own or lines or ["it gives no reason"])[0][:300]
