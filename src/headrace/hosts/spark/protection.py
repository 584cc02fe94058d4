"""Keeps strangers out of what Spark's processes say to each other, and secrets out of `ps`.

In: a job's settings.  Out: Spark's own settings for authentication and encryption; a file for
those that nobody may read.  PySpark starts the JVM with every setting on its command line, which
all users of the machine can list: secrets travel in a file that only this user can read.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.common.sensitive import is_sensitive
from headrace.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import SparkSession

    from headrace.spi.job_spec import JobSpec

OPTION = "security.ssl.internal.enabled"
SECRET = "spark.authenticate.secret"
_SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
_SETTINGS = {
    "spark.authenticate": "true",
    # RPC, shuffles and files that are fetched: AES, with keys agreed upon in the newer way
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.authEngineVersion": "2",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
    "spark.network.crypto.saslFallback": "false",
    # what is spilled to local disks, and shuffles that lie there
    "spark.io.encryption.enabled": "true",
}


def protection(spec: JobSpec, master: str) -> dict[str, str]:
    """What the option switches on; the user's own spark.* settings come on top.

    Raises:
        ConfigurationError: a standalone cluster, and no secret that its workers know.
    """
    if not spec.option(OPTION):
        return {}
    own = spec.spark_settings
    has_secret = SECRET in own or f"{SECRET}.driver.file" in own or f"{SECRET}.file" in own
    if master.startswith("spark://") and not has_secret:
        raise ConfigurationError(
            f"{OPTION} is true, but the workers of {master} must know the same secret, and none "
            "is set",
            where=OPTION,
            fix=f"put {SECRET} and spark.authenticate true into conf/spark-defaults.conf of the "
            f"master and the workers, and into this job's settings: {SECRET}, or {SECRET}.file",
        )
    return dict(_SETTINGS)


def check_protected(session: SparkSession, spec: JobSpec) -> None:
    """Refuse a Spark that was started without what the option promises.

    Raises:
        ConfigurationError: it runs already, and unprotected.
    """
    if not spec.option(OPTION):
        return
    running = session.sparkContext.getConf()
    missing = [
        key
        for key in ("spark.authenticate", "spark.network.crypto.enabled")
        if running.get(key, "false") != "true" and not running.get("spark.ssl.rpc.enabled")
    ]
    if missing:
        given = " ".join(f"--conf {key}={value}" for key, value in _SETTINGS.items())
        raise ConfigurationError(
            f"{OPTION} is true, but this Spark was started without {', '.join(missing)}",
            where=OPTION,
            fix=f"let headrace start Spark, or start it with {given}",
        )


@contextlib.contextmanager
def secrets_in_a_file(settings: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The settings that a command line may show; the others are in a file while Spark starts."""
    secret = {key: value for key, value in settings.items() if is_sensitive(key)}
    before = os.environ.get(_SUBMIT_ARGUMENTS)
    if not secret or "--properties-file" in (before or "") or "PYSPARK_GATEWAY_PORT" in os.environ:
        yield dict(settings)
        return
    descriptor, name = tempfile.mkstemp(prefix="headrace-", suffix=".properties")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.writelines(f"{_escaped(k)}={_escaped(v)}\n" for k, v in secret.items())
        os.environ[_SUBMIT_ARGUMENTS] = (
            f"--properties-file {name} --load-spark-defaults {before or 'pyspark-shell'}"
        )
        yield {key: value for key, value in settings.items() if key not in secret}
    finally:
        Path(name).unlink(missing_ok=True)
        os.environ.pop(_SUBMIT_ARGUMENTS, None)
        if before is not None:
            os.environ[_SUBMIT_ARGUMENTS] = before


def _escaped(text: str) -> str:
    """As java.util.Properties reads it."""
    units = memoryview(text.encode("utf-16-be")).cast("B")
    codes = [units[at] << 8 | units[at + 1] for at in range(0, len(units), 2)]
    return "".join(
        chr(code)
        if chr(code).isascii() and chr(code).isalnum()
        else f"\\u{code:04x}"
        if code > 126 or code < 33 or chr(code) in "\\=:#!"
        else chr(code)
        for code in codes
    )
