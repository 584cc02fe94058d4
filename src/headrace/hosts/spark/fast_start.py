"""How a local Spark starts faster: no zip of sources, Java options, an archive of Java classes.

Spark's Python processes find pyspark in a zip, where nothing compiled can be kept: each of them
compiled all of it again.  Two thirds of a cold start are Java's: loading and checking some 20,000
classes, and compiling what will run a few times only (docs/decisions/0010-the-first-result.md).

In: nothing, or `headrace warm-up`, which writes the archive.  Out: a home and options for the JVM.
Next: hosts/spark/session.py
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from headrace.common.home import headrace_home
from headrace.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Compile to the highest level what is called ten times as often as by default: less to do in the
# first seconds, and the same in the end.
_LATER_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
# A fifth of a cold start is Java checking the code of Spark's own jars, which pip has checked as
# files already.
_NO_SECOND_CHECK = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
_QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_PATIENCE_S = 600

# What a first job does; its JVM writes the archive when it ends.
_PROGRAM = """
import sys
from pyspark import SparkContext
from headrace.common import Configuration, Types
from headrace.datastream import StreamExecutionEnvironment

configuration = Configuration()
configuration.set_string("spark.driver.extraJavaOptions", sys.argv[1])
env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
pairs = env.from_collection([("a", 1), ("b", 2)], Types.TUPLE([Types.STRING(), Types.INT()]))
pairs.key_by(lambda pair: pair[0]).sum(1).add_sink(lambda pair: None)
env.execute("warm-up")
gateway = SparkContext._gateway
env.get_spark_session().stop()
gateway.proc.stdin.close()
gateway.proc.wait()
"""


@contextlib.contextmanager
def home_without_zip() -> Iterator[None]:
    """While this is open, a Spark that is started lets Python find pyspark where it is installed.

    Spark puts ``$SPARK_HOME/python/lib/pyspark.zip`` in front of what Python processes import.
    The home that it is given here has no such file. A user's own SPARK_HOME is left alone.
    """
    home = None if "SPARK_HOME" in os.environ else _linked_home()
    if home is not None:
        os.environ["SPARK_HOME"] = str(home)
    try:
        yield
    finally:
        if home is not None:
            del os.environ["SPARK_HOME"]


def _linked_home() -> Path | None:
    """Links to the installed Spark; None where none can be made. Always the same for an archive."""
    home = _cache() / f"spark-{pyspark.__version__}-{_fingerprint()}"
    if home.exists():
        return home
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent, prefix=".draft-") as folder:
            draft = Path(folder, "home")
            draft.mkdir()
            for name in ("bin", "jars", "sbin"):
                (draft / name).symlink_to(Path(pyspark.__file__).parent / name)
            draft.rename(home)
    except OSError:  # another process was faster, or nothing can be written there
        return home if home.exists() else None
    return home


def java_options() -> str:
    """Options for the JVM of a local Spark that headrace starts."""
    options = f"{_LATER_COMPILER} {_NO_SECOND_CHECK}"
    archive = archive_file()
    if not archive.exists():
        return options
    return f"{options} {_quoted(f'-XX:SharedArchiveFile={archive}')} -Xshare:auto {_QUIET}"


def _quoted(option: str) -> str:
    """One option of Java's, as Spark's launcher takes a line of them apart: a home may have spaces.

    Inside of double quotes it takes everything as it is, but for what stands behind a backslash.
    """
    escaped = option.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def archive_file() -> Path:
    """Where the archive of this Spark and this Java is, or would be."""
    return _cache() / f"spark-{pyspark.__version__}-{_fingerprint()}.jsa"


def _cache() -> Path:
    return headrace_home() / "cache"


def _fingerprint() -> str:
    """Changes with everything that an archive depends on; Java ignores one that does not fit."""
    java = Path(shutil.which("java") or "")
    if os.environ.get("JAVA_HOME"):
        java = Path(os.environ["JAVA_HOME"], "bin", "java")
    java = java.resolve()
    release = java.parent.parent / "release"
    version = release.read_text() if release.exists() else ""
    parts = (str(java), version, str(Path(pyspark.__file__).parent))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def make_archive() -> Path:
    """Run a small job and keep the classes that its Spark has loaded.

    Raises:
        EnvironmentSetupError: the job failed, or this Java writes no archives.
    """
    target = archive_file()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)  # or it would be part of the new one
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".draft-") as folder:
        draft = Path(folder, "archive.jsa")
        options = f"{_quoted(f'-XX:ArchiveClassesAtExit={draft}')} {_QUIET}"
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, options],
            env=os.environ,
            capture_output=True, text=True, timeout=_PATIENCE_S, check=False,
        )  # fmt: skip
        if done.returncode or not draft.exists():
            raise EnvironmentSetupError(
                f"the archive could not be made: {(done.stderr or done.stdout).strip()[-2000:]}",
                fix="nothing depends on it: jobs start without it as before",
            )
        draft.replace(target)
    return target
