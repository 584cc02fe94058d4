"""All that depends on how Spark 4.3 runs its real-time mode; a test says when that changes.

    Standby.java ── Janino, which Spark brings along ──▶ a jar in headrace's cache ── ADD JAR

- Real-time mode starts all stages of a query at once, joined by a streaming shuffle
  (``RealTimeTrigger``, ``StreamingShuffleWriter``).  Its tasks are never retried one by one.
- ``mapInArrow`` is not on Spark's list of what may run there; with ``pipelined`` Python workers it
  does: one thread writes to Python while another reads its results.
- How long a shuffle waits for more rows, and whether workers are pipelined, is read from the
  settings of the whole process (``SparkEnv``) when a task starts.

Held by tests/continuous/test_jvm.py.
In: a session.  Out: the same, able to read ``headrace.Standby`` in real-time mode.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark

from headrace.common.home import headrace_home
from headrace.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from py4j.java_gateway import JavaObject, JVMView
    from pyspark.sql import SparkSession

SOURCE = "headrace.Standby"
_JAVA = Path(__file__).with_name("Standby.java")
_SUPPORTED = (4, 3)

# Of the session of a job.
SESSION_SETTINGS = {
    "spark.sql.streaming.realTimeMode.allowlistCheck": "false",
    # a row is a packet, and is sent at once in both directions
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
    "spark.sql.execution.pandas.udf.buffer.size": "64",
}
# Of the whole process. A shuffle that waits longer for rows than our packets do would only add to
# their time; buffers are as large as packets, so that its memory is bounded by their number.
PROCESS_SETTINGS = {
    "spark.python.udf.pipelined.enabled": "true",
    "spark.shuffle.streaming.networkBufferMaxWaitTimeMs": "1",
    "spark.shuffle.streaming.networkBufferSize": str(64 * 1024),
    # what a slow operator lets pile up in front of it, and a barrier has to wait for
    "spark.shuffle.streaming.writerMaxMemory": str(256 * 1024),
    "spark.shuffle.streaming.readerMaxMemory": str(256 * 1024),
}


def check_version() -> None:
    """Refuse another Spark before anything runs.

    Raises:
        EnvironmentSetupError: real-time mode may work differently there.
    """
    version = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
    if version != _SUPPORTED:
        raise EnvironmentSetupError(
            f"continuous mode is made for Spark 4.3, and this is {pyspark.__version__}: how Spark "
            "runs its real-time mode changes from version to version",
            fix="install pyspark 4.3, or run the job in micro-batches: "
            "headrace.execution.mode: micro-batch",
        )


def add_source(spark: SparkSession) -> None:
    """Let a session read `SOURCE`."""
    spark.sql(f"ADD JAR '{_jar(spark)}'")


def _jar(spark: SparkSession) -> Path:
    """The compiled source; from the cache, if this Java code was compiled before."""
    code = _JAVA.read_bytes()
    digest = hashlib.sha256(code + pyspark.__version__.encode()).hexdigest()[:12]
    jar = headrace_home() / "cache" / f"standby-{digest}.jar"
    if jar.exists():
        return jar
    try:
        jar.parent.mkdir(parents=True, exist_ok=True)
        folder = jar.parent
    except OSError:  # a home that cannot be written
        folder = Path(tempfile.mkdtemp(prefix="headrace-jar-"))
    draft = folder / f".{jar.name}.{os.getpid()}"
    with zipfile.ZipFile(draft, "w") as archive:
        for name, content in _compiled(spark, code.decode()).items():
            archive.writestr(f"{name.replace('.', '/')}.class", content)
    draft.replace(folder / jar.name)
    return folder / jar.name


def _compiled(spark: SparkSession, code: str) -> dict[str, bytes]:
    """Classes by name, compiled by the Janino among Spark's jars: no JDK is needed."""
    jvm = _jvm(spark)
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
    compiler.setParentClassLoader(loader)
    compiler.cook(code)
    classes = compiler.getBytecodes()
    return {str(name): bytes(classes.get(name)) for name in classes.keySet()}


def _jvm(spark: SparkSession) -> JVMView:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return jvm


def slots(spark: SparkSession) -> int:
    """How many tasks this Spark can run at the same time now."""
    context = spark.sparkContext._jsc.sc()
    profile = context.resourceProfileManager().defaultResourceProfile()
    return int(context.maxNumConcurrentTasks(profile))


def most_slots(spark: SparkSession) -> int | None:
    """How many it can ever have; None if nothing limits that, or nobody knows."""
    master = spark.sparkContext.master or ""
    if master.startswith("local") and not master.startswith("local-cluster"):
        return slots(spark)
    conf = spark.sparkContext.getConf()

    def number(key: str) -> int | None:
        text = conf.get(key)
        return None if text is None else int(text)

    cpus = number("spark.task.cpus") or 1
    cores, limits = number("spark.executor.cores"), [number("spark.cores.max")]
    if cores is not None and conf.get("spark.dynamicAllocation.enabled", "false") == "true":
        # more executors come for tasks that wait, and ours begin when all of them can
        kept = (number("spark.dynamicAllocation.minExecutors") or 0) * cores
        limits.append(max(kept, slots(spark) * cpus))
    elif cores is not None and master.startswith(("yarn", "k8s:")):
        executors = number("spark.executor.instances")
        limits.append(None if executors is None else executors * cores)
    known = [limit for limit in limits if limit is not None]
    return min(known) // cpus if known else None


# What Spark says of tasks that are cancelled, as those of an endless query always are.
_SAYS_ON_STOP = ("org.apache.spark.util.Utils", "org.apache.spark.executor.Executor")
_SILENCE_S = 2.0


def silence_stop(spark: SparkSession) -> None:
    """For a moment, let Spark's log not tell of tasks that are cancelled: their run is over."""
    log4j = _jvm(spark).org.apache.logging.log4j
    before = {
        name: level
        for name in _SAYS_ON_STOP
        # one that is off was silenced a moment ago, by another run, which will restore it
        if not (level := log4j.LogManager.getLogger(name).getLevel()).equals(log4j.Level.OFF)
    }

    def set_levels(levels: dict[str, JavaObject]) -> None:
        with contextlib.suppress(Exception):  # Spark has ended meanwhile
            for name, level in levels.items():
                log4j.core.config.Configurator.setLevel(name, level)

    set_levels(dict.fromkeys(before, log4j.Level.OFF))
    restoring = threading.Timer(_SILENCE_S, set_levels, (before,))
    restoring.daemon = True
    restoring.start()


_using = 0
_before: dict[str, str | None] = {}
_guard = threading.Lock()


@contextlib.contextmanager
def process_settings(spark: SparkSession) -> Iterator[None]:
    """While this is open, tasks of this process are started with `PROCESS_SETTINGS`.

    Executors of a cluster have the settings they were started with: there they must have been
    given before (`missing_settings`).
    """
    global _using
    conf = spark.sparkContext._jsc.sc().conf()  # the one that SparkEnv has, not a copy
    with _guard:
        if _using == 0:
            for key, value in PROCESS_SETTINGS.items():
                _before[key] = conf.get(key) if conf.contains(key) else None
                if _before[key] is None:
                    conf.set(key, value)
        _using += 1
    try:
        yield
    finally:
        with _guard:
            _using -= 1
            if _using == 0:
                for key, before in _before.items():
                    if before is None:
                        conf.remove(key)


def missing_settings(spark: SparkSession) -> dict[str, str]:
    """Settings that a cluster's executors should have been started with, and were not."""
    if (spark.sparkContext.master or "").startswith("local"):
        return {}
    conf = spark.sparkContext.getConf()
    return {key: value for key, value in PROCESS_SETTINGS.items() if not conf.contains(key)}
