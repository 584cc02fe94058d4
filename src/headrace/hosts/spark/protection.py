"""Keeps strangers out of what Spark's processes say to each other, and secrets out of `ps`.

In: a job's settings.  Out: Spark's own settings for authentication and encryption; a file for
those that nobody may read.  PySpark starts the JVM with every setting on its command line, which
all users of the machine can list: secrets travel in a file that only this user can read.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shlex
import tempfile
from dataclasses import dataclass
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
_PROPERTIES_FILE = "--properties-file"
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
    """The settings that a command line may show; the others are in a file while Spark starts.

    Spark reads one properties file only, so that of the user's is taken into it. What the user's
    arguments set wins over our settings, as it would on the command line.

    Raises:
        ConfigurationError: the user's properties file cannot be read.
    """
    before = os.environ.get(_SUBMIT_ARGUMENTS)
    given = _taken_apart(before or "pyspark-shell")
    secret = {key: value for key, value in settings.items() if is_sensitive(key)} | given.secrets
    if not secret or "PYSPARK_GATEWAY_PORT" in os.environ:
        yield dict(settings)
        return
    theirs = b"" if given.file is None else _content(given.file)
    ours = "".join(f"{_escaped(k)}={_escaped(v)}\n" for k, v in secret.items()).encode("ascii")
    descriptor, name = tempfile.mkstemp(prefix="headrace-", suffix=".properties")  # mode 0600
    forget = functools.partial(Path(name).unlink, missing_ok=True)
    atexit.register(forget)  # the user may leave while Spark starts
    try:
        with os.fdopen(descriptor, "wb") as file:
            # of two lines for a key Java takes the last; an empty one ends whatever stands before
            file.write(theirs + b"\n\n" + ours if theirs else ours)
        # whoever names a file does without conf/spark-defaults.conf, unless they say so
        defaults = ["--load-spark-defaults"] if given.file is None else []
        words = [_PROPERTIES_FILE, name, *defaults, *given.others]
        os.environ[_SUBMIT_ARGUMENTS] = shlex.join(words)
        yield {key: value for key, value in settings.items() if key not in secret}
    finally:
        forget()
        atexit.unregister(forget)
        os.environ.pop(_SUBMIT_ARGUMENTS, None)
        if before is not None:
            os.environ[_SUBMIT_ARGUMENTS] = before


@dataclass(frozen=True, slots=True)
class _SubmitArguments:
    """The user's arguments for spark-submit.

    Attributes:
        others: those that everybody may see.
        file: the properties file; of several the last counts, as in Spark.
        secrets: of ``--conf``.
    """

    others: list[str]
    file: str | None
    secrets: dict[str, str]


def _taken_apart(arguments: str) -> _SubmitArguments:
    others: list[str] = []
    file: str | None = None
    secrets: dict[str, str] = {}
    words = iter(shlex.split(arguments))
    for word in words:
        option, equals, value = word.partition("=")
        if option not in (_PROPERTIES_FILE, "--conf", "-c"):
            others.append(word)
            continue
        value = value if equals else next(words, "")
        key, _, setting = value.partition("=")
        if option == _PROPERTIES_FILE:
            file = value
        elif is_sensitive(key):
            secrets[key] = setting
        else:
            others += [option, value]
    return _SubmitArguments(others, file, secrets)


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(
            f"the properties file {path} cannot be read: {error.strerror}",
            where=f"{_PROPERTIES_FILE} in {_SUBMIT_ARGUMENTS}",
            fix="name a file that is there and that this user may read; paths begin at the "
            "working directory",
        ) from error


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
