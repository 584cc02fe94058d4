"""The table of all options that headrace knows.

In: nothing.  Out: ``OPTIONS`` by key, ``describe_options()`` for docs/reference.  Keys are Flink's
where Flink has the option; ``source.*`` and ``headrace.*`` are ours.  Any ``spark.*`` key goes to
Spark as it is.  Next: common/configuration.py
"""

from __future__ import annotations

import difflib
from typing import Any

from headrace.common.config_options import ConfigOption, as_text

__all__ = ["IGNORED_PREFIXES", "OPTIONS", "describe_options", "find_option", "nearest_keys"]

_ALL: tuple[ConfigOption[Any], ...] = (
    # --- parallelism and program
    ConfigOption(
        "parallelism.default",
        "int",
        None,
        "Subtasks of every step that does not say otherwise; the machine's cores, at most 8, if "
        "not set.",
        minimum=1,
    ),
    ConfigOption(
        "pipeline.max-parallelism",
        "int",
        None,
        "Number of key groups: fixed for the life of a job's state. -1 for not set.",
        minimum=-1,
    ),
    ConfigOption("pipeline.name", "string", None, "The job's name; wins over execute(name)."),
    ConfigOption(
        "pipeline.auto-watermark-interval",
        "duration",
        "200 ms",
        "How often watermark generators are asked; 0 for never.",
        minimum=0,
    ),
    ConfigOption(
        "pipeline.global-job-parameters",
        "map",
        None,
        "What RuntimeContext.get_job_parameter finds, as key1:value1,key2:value2.",
    ),
    ConfigOption(
        "pipeline.operator-chaining.enabled",
        "boolean",
        default=True,
        doc="Whether plans show chains.",
    ),
    ConfigOption(
        "pipeline.object-reuse",
        "boolean",
        default=False,
        doc="Accepted: Python hands objects on as they are.",
    ),
    ConfigOption(
        "pipeline.auto-generate-uids",
        "boolean",
        default=True,
        doc="Whether steps without uid() get one; if false, such steps are an error.",
    ),
    ConfigOption(
        "pipeline.generic-types", "boolean", default=True, doc="Whether records may be pickled."
    ),
    ConfigOption(
        "pipeline.watermark-alignment.buffer-size",
        "int",
        3,
        "How many watermarks alignment looks back on; 0 for none.",
        minimum=0,
    ),
    ConfigOption("pipeline.jars", "string", None, "Jars for Spark, separated by semicolons."),
    ConfigOption("pipeline.classpaths", "string", None, "Like pipeline.jars."),
    # --- Python on the workers
    ConfigOption(
        "python.files", "string", None, "Modules, packages and zips for the workers, with commas."
    ),
    ConfigOption(
        "python.archives",
        "string",
        None,
        "Archives that workers unpack, as `path#folder` with commas; workers then work in the "
        "directory that has these folders.",
    ),
    ConfigOption(
        "python.requirements",
        "string",
        None,
        "A requirements.txt whose packages the workers get; `path#directory` takes them from "
        "the directory.",
    ),
    ConfigOption("python.executable", "string", None, "The interpreter that the workers run."),
    # --- execution
    ConfigOption(
        "execution.runtime-mode",
        "enum",
        "STREAMING",
        "STREAMING, BATCH (one result a key, for bounded sources only), or AUTOMATIC: BATCH if all "
        "sources are bounded. Bounded jobs end by themselves in every mode.",
        choices=("STREAMING", "BATCH", "AUTOMATIC"),
    ),
    ConfigOption(
        "execution.sorted-inputs.memory",
        "memory",
        "128 mb",
        "BATCH mode: how much of a keyed input, as it comes over the exchange, a subtask holds in "
        "memory while it sorts it; the rest goes to temporary files.",
        minimum=1,
    ),
    ConfigOption(
        "execution.buffer-timeout.interval",
        "duration",
        "100 ms",
        "Accepted: a micro-batch is one flush.",
    ),
    ConfigOption(
        "execution.attached",
        "boolean",
        default=True,
        doc="Whether `headrace run` waits for the job's end.",
    ),
    ConfigOption(
        "execution.state-recovery.path",
        "string",
        None,
        "Savepoint to start from.",
    ),
    ConfigOption(
        "execution.state-recovery.ignore-unclaimed-state",
        "boolean",
        default=False,
        doc="Start even if the savepoint has state that no step claims.",
    ),
    ConfigOption(
        "execution.state-recovery.uid-mapping",
        "map",
        None,
        "For steps whose uid has changed since the savepoint: `old:new,other:another`.",
    ),
    # --- where it runs
    ConfigOption(
        "headrace.execution.host",
        "string",
        "spark",
        "What runs the job: `spark`, or `local` for this process without Java (sources written in "
        "Python only); installed packages may bring others (entry points `headrace.hosts`).",
    ),
    # --- windows
    ConfigOption(
        "headrace.windows.share-panes",
        "boolean",
        default=True,
        doc="Whether sliding windows with a reduce or aggregate function are merged from the "
        "stretches of time that they have in common, instead of adding each record to each window.",
    ),
    ConfigOption(
        "headrace.windows.native",
        "boolean",
        default=True,
        doc="Whether a window of aggregates over columns runs on Spark's own windows, in programs "
        "that Spark can run as a whole.",
    ),
    # --- sources
    ConfigOption(
        "source.max-records-per-batch",
        "int",
        None,
        "How many records one source adds to one micro-batch at most.",
        minimum=1,
    ),
    ConfigOption(
        "source.max-files-per-batch",
        "int",
        None,
        "How many files one source adds to one micro-batch at most.",
        minimum=1,
    ),
    # --- checkpoints
    ConfigOption(
        "execution.checkpointing.interval",
        "duration",
        None,
        "Time from the start of one micro-batch to the start of the next; each of them is a "
        "checkpoint. Longer: more records a batch and a higher throughput, but results come later. "
        "If not set, the next one starts at once, and a failed job is not restarted.",
        minimum=0,
    ),
    ConfigOption(
        "execution.checkpointing.mode",
        "enum",
        "EXACTLY_ONCE",
        "EXACTLY_ONCE or AT_LEAST_ONCE. Accepted: state is always exactly once, at no extra cost.",
        choices=("EXACTLY_ONCE", "AT_LEAST_ONCE"),
    ),
    ConfigOption(
        "execution.checkpointing.dir",
        "string",
        None,
        "Where the job's checkpoint goes, one directory a job. If not set it is temporary: a "
        "failed job can be restarted from it, but a driver that dies takes it along.",
    ),
    ConfigOption(
        "execution.checkpointing.savepoint-dir", "string", None, "Where savepoints go by default."
    ),
    ConfigOption(
        "execution.checkpointing.timeout",
        "duration",
        "10 min",
        "How long a savepoint may take.",
        minimum=1,
    ),
    ConfigOption(
        "execution.checkpointing.min-pause",
        "duration",
        "0 ms",
        "Accepted: micro-batches follow each other without overlap.",
        minimum=0,
    ),
    ConfigOption(
        "execution.checkpointing.max-concurrent-checkpoints",
        "int",
        1,
        "Accepted: there is one micro-batch at a time.",
        minimum=1,
    ),
    ConfigOption(
        "execution.checkpointing.tolerable-failed-checkpoints",
        "int",
        0,
        "Accepted: a failed micro-batch is a failure of the job, which then restarts.",
        minimum=0,
    ),
    ConfigOption(
        "execution.checkpointing.externalized-checkpoint-retention",
        "enum",
        "NO_EXTERNALIZED_CHECKPOINTS",
        "What happens to execution.checkpointing.dir when a job is cancelled: it is deleted, or "
        "it stays. It stays as well if nothing is set; Flink would delete it.",
        choices=(
            "DELETE_ON_CANCELLATION",
            "RETAIN_ON_CANCELLATION",
            "NO_EXTERNALIZED_CHECKPOINTS",
        ),
    ),
    ConfigOption(
        "execution.checkpointing.num-retained",
        "int",
        10,
        "How many past micro-batches a checkpoint keeps, beside the newest "
        "(spark.sql.streaming.minBatchesToRetain).",
        minimum=1,
    ),
    ConfigOption(
        "execution.checkpointing.unaligned.enabled",
        "boolean",
        default=False,
        doc="Accepted: micro-batches need no alignment.",
    ),
    ConfigOption(
        "execution.checkpointing.unaligned.forced",
        "boolean",
        default=False,
        doc="Accepted: micro-batches need no alignment.",
    ),
    ConfigOption(
        "execution.checkpointing.aligned-checkpoint-timeout",
        "duration",
        "0 ms",
        "Accepted: micro-batches need no alignment.",
        minimum=0,
    ),
    ConfigOption(
        "execution.checkpointing.incremental",
        "boolean",
        default=False,
        doc="Accepted: the state store always writes changes only.",
    ),
    ConfigOption(
        "execution.checkpointing.storage",
        "string",
        None,
        "Accepted: see execution.checkpointing.dir.",
    ),
    ConfigOption(
        "execution.checkpointing.checkpoints-after-tasks-finish",
        "boolean",
        default=True,
        doc="Accepted: finished sources do not stop micro-batches.",
    ),
    ConfigOption(
        "execution.checkpointing.snapshot-compression",
        "boolean",
        default=False,
        doc="Accepted: savepoints are compressed Parquet.",
    ),
    # --- state
    ConfigOption(
        "state.backend.type",
        "enum",
        "rocksdb",
        "Spark's state store: rocksdb, or hashmap to keep the state of native windows in the "
        "executor's memory. The state of Python steps is in RocksDB either way, its entries in use "
        "in the worker's memory.",
        choices=("rocksdb", "hashmap"),
    ),
    ConfigOption(
        "state.changelog.enabled",
        "boolean",
        default=False,
        doc="Accepted: the state store writes changelogs.",
    ),
    # --- failures
    ConfigOption(
        "restart-strategy.type",
        "enum",
        None,
        "none, fixed-delay, failure-rate or exponential-delay. If not set: exponential-delay if "
        "execution.checkpointing.interval is set, else none.",
        choices=("none", "off", "disable", "fixed-delay", "failure-rate", "exponential-delay"),
    ),
    ConfigOption(
        "restart-strategy.fixed-delay.attempts", "int", 1, "How often to try again.", minimum=0
    ),
    ConfigOption(
        "restart-strategy.fixed-delay.delay", "duration", "1 s", "Pause before that.", minimum=0
    ),
    ConfigOption(
        "restart-strategy.failure-rate.max-failures-per-interval",
        "int",
        1,
        "So many failures within the interval are followed by a restart; one more ends the job.",
        minimum=1,
    ),
    ConfigOption(
        "restart-strategy.failure-rate.failure-rate-interval",
        "duration",
        "1 min",
        "The time in which failures are counted.",
        minimum=1,
    ),
    ConfigOption(
        "restart-strategy.failure-rate.delay",
        "duration",
        "1 s",
        "Pause before a new attempt.",
        minimum=0,
    ),
    ConfigOption(
        "restart-strategy.exponential-delay.initial-backoff",
        "duration",
        "1 s",
        "The first pause.",
        minimum=1,
    ),
    ConfigOption(
        "restart-strategy.exponential-delay.max-backoff",
        "duration",
        "1 min",
        "The longest pause.",
        minimum=1,
    ),
    ConfigOption(
        "restart-strategy.exponential-delay.backoff-multiplier",
        "float",
        1.5,
        "By what the pause grows.",
        minimum=1,
    ),
    ConfigOption(
        "restart-strategy.exponential-delay.reset-backoff-threshold",
        "duration",
        "1 h",
        "After this long without failure the pause is the first one again.",
        minimum=1,
    ),
    ConfigOption(
        "restart-strategy.exponential-delay.jitter-factor",
        "float",
        0.1,
        "How much chance changes the pause, from 0 to 1.",
        minimum=0,
    ),
    ConfigOption(
        "restart-strategy.exponential-delay.attempts-before-reset-backoff",
        "int",
        None,
        "How often to try again; without end if not set.",
        minimum=1,
    ),
    # --- jobs on this machine
    ConfigOption(
        "headrace.jobs.dir",
        "string",
        None,
        "Where jobs register for `headrace list`; jobs/ in the directory that the variable "
        "HEADRACE_HOME names, or ~/.headrace/jobs, if not set.",
    ),
    ConfigOption(
        "headrace.jobs.unique-names",
        "boolean",
        default=False,
        doc="Whether a job refuses to start while another one with its name is running; "
        "`headrace run --name` switches it on.",
    ),
    ConfigOption(
        "headrace.checkpoint.lease",
        "duration",
        "30 s",
        "A driver that gave no sign of life for this long has lost its checkpoint directory to the "
        "next one; on one machine a dead driver is seen at once.",
        minimum=1000,
    ),
    # --- Spark, REST, metrics
    ConfigOption(
        "spark.master",
        "string",
        None,
        "Where Spark runs: local[4], spark://…, yarn, k8s://…. If not set, in this process with as "
        "many cores as the default parallelism, at least 2.",
    ),
    ConfigOption("rest.port", "int", 8081, "Port of the dashboard and REST API.", minimum=0),
    ConfigOption(
        "rest.address",
        "string",
        "127.0.0.1",
        "Address that the dashboard listens on and clients ask.",
    ),
    ConfigOption(
        "rest.bind-port", "string", None, "Port, or range such as 8081-8090, to listen on instead."
    ),
    ConfigOption(
        "metrics.latency.interval",
        "duration",
        "0 ms",
        "How often latency is measured; 0 for never.",
    ),
    ConfigOption(
        "metrics.latency.granularity",
        "enum",
        "operator",
        "How finely latency is told apart.",
        choices=("single", "operator", "subtask"),
    ),
)

OPTIONS: dict[str, ConfigOption[Any]] = {option.key: option for option in _ALL}

# Spellings of Flink 1.x that programs still use.
_OLD_KEYS = {
    "pipeline.operator-chaining": "pipeline.operator-chaining.enabled",
    "execution.buffer-timeout": "execution.buffer-timeout.interval",
    "state.checkpoint-storage": "execution.checkpointing.storage",
    "state.backend.fs.checkpointdir": "execution.checkpointing.dir",
    "savepoints.state.backend.fs.dir": "execution.checkpointing.savepoint-dir",
    "state.backend.changelog.enabled": "state.changelog.enabled",
    "execution.checkpointing.alignment-timeout": (
        "execution.checkpointing.aligned-checkpoint-timeout"
    ),
    "execution.checkpointing.checkpoints-after-tasks-finish.enabled": (
        "execution.checkpointing.checkpoints-after-tasks-finish"
    ),
    "state.backend": "state.backend.type",
    "state.checkpoints.dir": "execution.checkpointing.dir",
    "state.savepoints.dir": "execution.checkpointing.savepoint-dir",
    "state.checkpoints.num-retained": "execution.checkpointing.num-retained",
    "state.backend.incremental": "execution.checkpointing.incremental",
    "execution.savepoint.path": "execution.state-recovery.path",
    "execution.savepoint.ignore-unclaimed-state": "execution.state-recovery.ignore-unclaimed-state",
    "restart-strategy": "restart-strategy.type",
    "execution.checkpointing.unaligned": "execution.checkpointing.unaligned.enabled",
    "execution.checkpointing.tolerable-failed-checkpoints-number": (
        "execution.checkpointing.tolerable-failed-checkpoints"
    ),
}

# Flink's options that mean nothing here: taken without a word of complaint, so that programs move.
IGNORED_PREFIXES: dict[str, str] = {
    "python.": "Spark's Python workers are configured by spark.python.* and spark.pyspark.*",
    "taskmanager.": "Spark's executors are configured by spark.executor.*",
    "jobmanager.": "Spark's driver is configured by spark.driver.*",
    "task.": "Spark cancels tasks",
    "env.": "Spark's JVMs are configured by spark.driver.* and spark.executor.*",
    "classloader.": "there are no Java user classes",
    "execution.async-state.": "state is read from memory, or in pages",
    "execution.batch": "Spark runs the exchanges of batch jobs",
    "execution.buffer-timeout.enabled": "a micro-batch is one flush",
    "execution.checkpointing.cleaner.": "Spark removes old checkpoints",
    "execution.checkpointing.create-subdir": "a job has its own directory",
    "execution.checkpointing.data-inline-threshold": "Spark writes the files of state",
    "execution.checkpointing.file-merging.": "Spark writes the files of state",
    "execution.checkpointing.local-backup.": "Spark places tasks near their state",
    "execution.checkpointing.unaligned.": "micro-batches need no alignment",
    "execution.checkpointing.write-buffer-size": "Spark writes the files of state",
    "execution.shutdown-on-": "the job ends with its program",
    "execution.sort": "Spark sorts",
    "execution.state-recovery.claim-mode": "a savepoint stays the user's",
    "execution.savepoint-restore-mode": "a savepoint stays the user's",
    "execution.target": "Spark's master is set by spark.master",
    "pipeline.vertex-": "steps have their names",
    "metrics.fetcher.": "metrics are configured by spark.metrics.*",
    "metrics.internal.": "metrics are configured by spark.metrics.*",
    "metrics.job.": "metrics are configured by spark.metrics.*",
    "metrics.latency.history-size": "metrics are configured by spark.metrics.*",
    "metrics.reporter": "metrics are configured by spark.metrics.*",
    "metrics.scope.": "metrics are configured by spark.metrics.*",
    "metrics.system-resource": "metrics are configured by spark.metrics.*",
    "rest.async.": "the dashboard is configured by rest.address and rest.port",
    "rest.await-leader-timeout": "the dashboard is configured by rest.address and rest.port",
    "rest.bind-address": "the dashboard is configured by rest.address and rest.port",
    "rest.cache.": "the dashboard is configured by rest.address and rest.port",
    "rest.client.": "the dashboard is configured by rest.address and rest.port",
    "rest.connection-timeout": "the dashboard is configured by rest.address and rest.port",
    "rest.flamegraph.": "the dashboard is configured by rest.address and rest.port",
    "rest.idleness-timeout": "the dashboard is configured by rest.address and rest.port",
    "rest.path": "the dashboard is configured by rest.address and rest.port",
    "rest.profiling.": "the dashboard is configured by rest.address and rest.port",
    "rest.retry.": "the dashboard is configured by rest.address and rest.port",
    "rest.server.": "the dashboard is configured by rest.address and rest.port",
    "rest.url-prefix": "the dashboard is configured by rest.address and rest.port",
    "restart-strategy.cleanup": "there is nothing to clean up",
    "state.backend.forst.": "Spark's is configured by spark.sql.streaming.stateStore.*",
    "state.backend.fs.": "Spark writes the files of state",
    "state.backend.latency-track.": "Spark measures its state store",
    "state.latency-track.": "Spark measures its state store",
    "state.size-track.": "Spark measures its state store",
    "state.storage.fs.": "Spark writes the files of state",
    "traces.": "metrics are configured by spark.metrics.*",
    "state.backend.rocksdb.": "Spark's is configured by spark.sql.streaming.stateStore.*",
    "state.backend.local-recovery": "Spark places tasks near their state",
    "state.changelog.": "Spark's state store writes changelogs",
    "pipeline.default-kryo-serializers": "there is no Kryo",
    "pipeline.force-": "there is no Kryo and no Avro",
    "pipeline.registered-": "there is no Kryo",
    "pipeline.serialization-config": "types are declared in Python",
    "pipeline.closure-cleaner-level": "functions are pickled by cloudpickle",
    "pipeline.operator-chaining.": "chains need the same parallelism only",
    "high-availability.": "the driver is restarted by Spark's cluster manager",
    "kubernetes.": "Spark on Kubernetes is configured by spark.kubernetes.*",
    "yarn.": "Spark on YARN is configured by spark.yarn.*",
    "heartbeat.": "Spark's heartbeats are configured by spark.executor.heartbeatInterval",
    "akka.": "there is no Akka",
    "pekko.": "there is no Pekko",
    "blob.": "Spark ships files",
    "slot.": "Spark places tasks",
    "slotmanager.": "Spark places tasks",
    "cluster.": "Spark manages the cluster",
    "jobstore.": "Spark's history server is configured by spark.history.*",
    "security.": "Spark's security is configured by spark.*",
    "fs.": "file systems are configured by spark.hadoop.*",
    "io.": "Spark's local directories are configured by spark.local.dir",
    "web.": "the dashboard is configured by rest.*",
    "historyserver.": "Spark's history server is configured by spark.history.*",
    "table.": "read by the table environment",
    "sql-client.": "read by the SQL client",
    "user.": "free for the user's own settings",
}


def find_option(key: str) -> ConfigOption[Any] | None:
    """The option of a key, also under its name of Flink 1.x; None if it is not known."""
    return OPTIONS.get(_OLD_KEYS.get(key, key))


def ignored_because(key: str) -> str | None:
    """Why an option of Flink means nothing here; None if it is not one of those."""
    for prefix, reason in IGNORED_PREFIXES.items():
        if key.startswith(prefix):
            return reason
    return None


def looks_like_an_option(key: str) -> bool:
    """Whether an unknown key is likely a mistake, rather than a setting of the user's own."""
    near = difflib.get_close_matches(key, [*OPTIONS, *_OLD_KEYS], n=1, cutoff=0.8)
    return bool(near) or key.split(".")[0] in _NAMESPACES


_NAMESPACES = {known.split(".")[0] for known in [*OPTIONS, *_OLD_KEYS]}


def nearest_keys(key: str, count: int = 1) -> list[str]:
    """The known keys that look most like a mistyped one."""
    return difflib.get_close_matches(key, [*OPTIONS, *_OLD_KEYS], n=count, cutoff=0.6)


def describe_options() -> str:
    """All options as a Markdown table, for docs/reference/options.md."""
    lines = ["| Key | Type | Default | Meaning |", "| --- | --- | --- | --- |"]
    for option in sorted(_ALL, key=lambda option: option.key):
        default = "(none)" if option.default is None else f"`{as_text(option.default)}`"
        kind = " / ".join(option.choices) if option.choices else option.type
        lines.append(f"| `{option.key}` | {kind} | {default} | {option.doc} |")
    return "\n".join(lines) + "\n"
