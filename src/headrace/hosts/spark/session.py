"""The SparkSession of a job: started on first use, or on top of one the user made.

Every job gets a session of its own on the shared SparkContext, because Spark reads the number of
shuffle partitions, the state store and more from the session when a query starts.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkConf, SparkContext
from pyspark.errors import AnalysisException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from headrace.common.interruptible import undisturbed
from headrace.errors import EnvironmentSetupError
from headrace.hosts.spark.fast_start import home_without_zip, java_options
from headrace.hosts.spark.protection import secrets_in_a_file
from headrace.hosts.spark.quiet import (
    filtered_output,
    held_back,
    quiet_callbacks,
    quiet_running,
)
from headrace.hosts.spark.start_failures import check_files, start_failure
from headrace.io.waiting import at_most, told_when_long

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

log = logging.getLogger(__name__)
# what `headrace run` shows; control/progress.py tells the rest
progress = logging.getLogger("headrace.progress")

_STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
# Settings of a local Spark that headrace starts itself; the user's own spark.* settings win.
_LOCAL_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.streaming.ui.enabled": "false",
    "spark.python.daemon.module": "headrace.hosts.spark.daemon",
}
# Over TCP every call into a Python worker waits 40 ms for a delayed acknowledgement (decision
# 0007).  Local Spark only: a cluster's temporary directories may be too long for such a socket.
_UNIX_SOCKETS = "spark.python.unix.domain.socket"
_LONGEST_SOCKET_FOLDER = 61
_MASTER_S = 60.0  # Spark's own: three tries of 20 s
_DYING_S = 1.0  # of a JVM that has said why it ends
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# Settings of every job's session.
_JOB_SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": _STATE_STORE,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # to count the rows of a store Spark reads the old content of every page before it writes it
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # Snapshots are made every few batches, but only maintenance stores them: once a minute, a job
    # that is killed would often replay the changes of many batches, at a tenth of the speed.
    "spark.sql.streaming.stateStore.maintenanceInterval": "10s",
    # headrace moves time itself, so batches without data would do nothing
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    # fewer, larger Arrow batches: cutting them is half the cost of a stage (docs/benchmarks.md)
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.metricsEnabled": "true",
    # Spark would wait without a limit for a batch that does not end when it is interrupted
    "spark.sql.streaming.stopTimeout": "30s",
}

# On a local disk Spark's default way to write checkpoint files forks a process for every look at a
# file: 40 to 85 forks and about 80 ms a batch.  This one renames just as atomically there, but it
# does not replace a file (docs/decisions/0014-state-of-failed-batches.md); so it is used where no
# task is run twice, and what failed batches left is removed.  Elsewhere Spark's default stays.
#
# headrace clears past state away there (docs/decisions/0017-state-is-cleared-by-commits.md), so
# more snapshots mean fewer changes beside them.  A file of state that is a few batches old may
# stand in the next snapshot as it is: no other executor can have deleted it meanwhile.
_LOCAL_CHECKPOINT_SETTINGS = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "5",
    "spark.sql.streaming.stateStore.rocksdb.checkStaleReusedFilesInSnapshot": "false",
}


def base_session(settings: Mapping[str, str], master: str) -> SparkSession:
    """The running session of this process, or a new one.

    Args:
        settings: the user's ``spark.*`` settings; those of the context apply to a new one only.
        master: Spark's master URL, such as ``local[2]`` or ``spark://host:7077``.
    """
    quiet_callbacks()
    active = SparkSession.getActiveSession() or _of_another_thread()
    if active is not None:
        return active
    check_java()
    progress.info("starting Spark (%s)", master)
    # Workers must run this interpreter, or they miss the packages of its virtual environment.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # A start that Ctrl-C tears apart takes away what its JVM needs next, and the JVM ends with a
    # traceback.  pyspark, too, has Ctrl-C cancel whatever Spark does for this process where its
    # context is made by the main thread: here only what the user waits for ends.
    session = undisturbed(lambda: _ready(settings, master), "headrace-spark-start")
    _make_active(session)
    return session


_one_at_a_time = threading.Lock()


def _ready(settings: Mapping[str, str], master: str) -> SparkSession:
    """A session for jobs."""
    with _one_at_a_time:
        session = _started(settings, master)
        session.sparkContext.setLogLevel(settings.get("spark.log.level", "ERROR"))
        _silence_expected_errors(session)
        if not master.startswith("local"):
            ship_package(session)
    return session


def _started(settings: Mapping[str, str], master: str) -> SparkSession:
    """A new session, unless another thread was faster."""
    defaults = dict(_LOCAL_SETTINGS) if master.startswith("local") else {}
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        folder = tempfile.gettempdir()
        defaults["spark.sql.warehouse.dir"] = str(Path(folder) / "headrace-warehouse")
        if hasattr(socket, "AF_UNIX") and len(folder) <= _LONGEST_SOCKET_FOLDER:
            defaults |= {f"{_UNIX_SOCKETS}.enabled": "true", f"{_UNIX_SOCKETS}.dir": folder}
        # of two contradicting options Java takes the last: the user's
        defaults[_JAVA_OPTIONS] = f"{java_options()} {settings.get(_JAVA_OPTIONS, '')}".strip()
        settings = {key: value for key, value in settings.items() if key != _JAVA_OPTIONS}
    check_files(settings)
    fast = home_without_zip() if master.startswith("local") else contextlib.nullcontext()
    with fast, secrets_in_a_file({**defaults, **settings}) as shown:
        conf = SparkConf().setMaster(master).setAppName("headrace").setAll(list(shown.items()))
        with held_back() as said, _told_when_master_is_away(master):
            try:
                _launch_java(conf)
                return SparkSession.builder.config(conf=conf).getOrCreate()
            except Exception as error:
                _forget_dead_java()
                raise start_failure(error, master, said.taken()) from None


def _launch_java(conf: SparkConf) -> None:
    """Start the JVM, unless there is one: as pyspark would, with its output filtered."""
    if SparkContext._gateway is None:
        with filtered_output() as output:
            gateway = launch_gateway(conf, {"stderr": output})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)


def _forget_dead_java() -> None:
    """A JVM that ended while it started must not be asked again."""
    java = getattr(SparkContext._gateway, "proc", None)
    if java is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            java.wait(_DYING_S)
            SparkContext._gateway = SparkContext._jvm = None


def _of_another_thread() -> SparkSession | None:
    """The session that this process has, which is active in the thread that has started it."""
    session = SparkSession._instantiatedSession
    return None if session is None or session._sc._jsc is None else session


def _make_active(session: SparkSession) -> None:
    """Let this thread find the session, which another one has started."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    SparkSession._get_j_spark_session_class(jvm).setActiveSession(session._jsparkSession)


def _told_when_master_is_away(master: str) -> AbstractContextManager[None]:
    """Spark's standalone master is asked three times; nothing is said of it where nobody is asked.

    Starting a JVM takes some seconds, too, and the progress tells of that.
    """
    if not master.startswith("spark://"):
        return contextlib.nullcontext()
    return told_when_long(f"Spark's master {master}", at_most(_MASTER_S))


def job_session(
    base: SparkSession,
    settings: Mapping[str, str],
    partitions: int,
    *,
    local_checkpoint: bool = False,
) -> SparkSession:
    """A session for one job, with its own settings on the shared context.

    Args:
        base: the session of the process.
        settings: the user's ``spark.*`` settings, which win over headrace's.
        partitions: as many as the job has slots.
        local_checkpoint: whether the checkpoint will be on a file system of this machine.
    """
    quiet_running(base)
    _use_this_python(base)
    session = base.newSession()
    wanted = {
        **_JOB_SETTINGS,
        **(_LOCAL_CHECKPOINT_SETTINGS if local_checkpoint else {}),
        **settings,
        "spark.sql.shuffle.partitions": str(partitions),
    }
    for key, value in wanted.items():
        # Static settings belong to the context. Settings that Spark has not registered, such as
        # those of RocksDB, are no less real: isModifiable() would say no to both.
        with contextlib.suppress(AnalysisException):
            session.conf.set(key, value)
    return session


def _use_this_python(session: SparkSession) -> None:
    """Let workers on this machine run this interpreter, unless the user named another.

    A session of the user's own was started with ``python3``, whichever that is: outside of an
    activated virtual environment it has none of its packages.
    """
    context = session.sparkContext
    named = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    if not named and (context.master or "").startswith("local"):
        context.pythonExec = sys.executable


def _silence_expected_errors(session: SparkSession) -> None:
    """A failed batch is reported by headrace, with the user's line; not by Spark's log as well."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    log4j = jvm.org.apache.logging.log4j
    for name in (
        "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution",
        "org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink",
        "org.apache.spark.sql.execution.python.streaming",
        # a continuous run is ended by stopping its tasks
        "org.apache.spark.sql.execution.datasources.v2.WriteToDataSourceV2Exec",
        "org.apache.spark.sql.execution.datasources.v2.DataWritingSparkTask",
        "org.apache.spark.util.ErrorNotifier",
        "org.apache.spark.shuffle.streaming",
        # a batch that is stopped while it sends its tasks out; otherwise the batch fails, and tells
        "org.apache.spark.broadcast.TorrentBroadcast",
    ):
        log4j.core.config.Configurator.setLevel(name, log4j.Level.OFF)


def check_java() -> None:
    """Say what is missing before Spark says it in its own way."""
    home = os.environ.get("JAVA_HOME")
    found = (Path(home) / "bin" / "java").exists() if home else shutil.which("java")
    if not found:
        raise EnvironmentSetupError(
            "Spark needs Java 17 or 21, and none was found"
            + (f" in JAVA_HOME={home}" if home else " on the PATH"),
            fix="install it (Debian/Ubuntu: apt-get install openjdk-17-jre-headless; Fedora: dnf "
            "install java-21-openjdk-headless; macOS: brew install openjdk@21; conda: conda "
            "install openjdk=21), or set JAVA_HOME",
        )


def ship_package(session: SparkSession) -> None:
    """Send headrace itself to the executors of a cluster, which may not have it installed."""
    import headrace

    folder = Path(headrace.__file__).resolve().parent
    target = Path(tempfile.mkdtemp(prefix="headrace-package-"))
    atexit.register(shutil.rmtree, target, ignore_errors=True)  # Spark serves it to the end
    archive = shutil.make_archive(str(target / "headrace"), "zip", str(folder.parent), "headrace")
    session.sparkContext.addPyFile(archive)
    log.info("sent headrace to the executors as %s", archive)


def driver_host(spark: SparkSession) -> tuple[str, str]:
    """(the address to listen on, the name by which executors reach it)."""
    conf = spark.sparkContext.getConf()
    name = conf.get("spark.driver.host", "127.0.0.1") or "127.0.0.1"
    if (spark.sparkContext.master or "").startswith("local"):
        return "127.0.0.1", "127.0.0.1"
    return conf.get("spark.driver.bindAddress", name) or name, name
