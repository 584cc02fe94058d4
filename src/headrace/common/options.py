"""The table of all options that headrace knows.

Out: ``OPTIONS`` by key, ``describe_options()`` for docs/reference.  Keys are Flink's
where Flink has the option; ``source.*`` and ``headrace.*`` are ours.  Any ``spark.*`` key goes to
Spark as it is.  Each says whether it acts; a test finds who reads those that do.
Next: common/option_families.py (Flink's others, by their beginning), common/configuration.py
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from headrace.common.cluster_options import CLUSTER_OPTIONS
from headrace.common.config_options import ConfigOption, Effect, as_text
from headrace.common.foreign_table_options import FOREIGN_TABLE_OPTIONS
from headrace.common.metric_options import METRIC_OPTIONS, reporter_option
from headrace.common.option_families import FAMILIES
from headrace.common.scaling_options import SCALING_OPTIONS
from headrace.common.security_options import SECURITY_OPTIONS
from headrace.common.table_options import TABLE_OPTIONS

if TYPE_CHECKING:
    from headrace.common.opaque import OptionValue

__all__ = ["OPTIONS", "describe_options", "find_option", "nearest_keys"]

_NO_ALIGNMENT = "a micro-batch begins and ends everywhere at once: there is nothing to align"
_ONE_LATENCY = "latency is shown for every sink"

_ALL: tuple[ConfigOption[OptionValue], ...] = (
    # --- parallelism and program
    ConfigOption(
        "parallelism.default",
        "int",
        None,
        "Subtasks of every step that does not set its own; if not set, the number of the machine's "
        "cores, at most 8.",
        minimum=1,
    ),
    ConfigOption(
        "pipeline.max-parallelism",
        "int",
        None,
        "Number of key groups: fixed for the life of a job's state. -1 means not set.",
        minimum=-1,
    ),
    ConfigOption("pipeline.name", "string", None, "The job's name; wins over execute(name)."),
    ConfigOption(
        "pipeline.auto-watermark-interval",
        "duration",
        "200 ms",
        "Continuous mode: how often watermarks are emitted; 0 ms for never before the end of "
        "input. In micro-batches that is at the end of each.",
        minimum=0,
    ),
    ConfigOption(
        "pipeline.global-job-parameters",
        "map",
        None,
        "Parameters for RuntimeContext.get_job_parameter, as key1:value1,key2:value2.",
    ),
    ConfigOption(
        "pipeline.operator-chaining.enabled",
        "boolean",
        default=True,
        doc="Whether steps may share a task.",
        effect=Effect.ACCEPTED,
        why=(
            "the steps of a stage always run in one task; start_new_chain() and "
            "disable_chaining() are accepted without effect, too"
        ),
    ),
    ConfigOption(
        "pipeline.object-reuse",
        "boolean",
        default=False,
        doc="Whether records are passed on without a copy.",
        effect=Effect.ACCEPTED,
        why="Python passes objects on as they are",
    ),
    ConfigOption(
        "pipeline.auto-generate-uids",
        "boolean",
        default=True,
        doc="Whether steps without uid() get one; if false, such steps are an error.",
    ),
    ConfigOption(
        "pipeline.generic-types",
        "boolean",
        default=True,
        doc=(
            "Whether records may travel as pickles; if false, a stream without a declared "
            "type is an error."
        ),
    ),
    ConfigOption(
        "pipeline.watermark-alignment.buffer-size",
        "int",
        3,
        "How many watermarks alignment buffers.",
        minimum=0,
        effect=Effect.ACCEPTED,
        why="a micro-batch takes from all sources at once, so watermarks are not buffered",
    ),
    ConfigOption(
        "pipeline.jars",
        "string",
        None,
        (
            "Jars for Spark, separated by semicolons: added to spark.jars, as add_jars "
            "does, before the first job of the process."
        ),
    ),
    ConfigOption("pipeline.classpaths", "string", None, "Like pipeline.jars."),
    # --- Python on the workers
    ConfigOption(
        "python.files",
        "string",
        None,
        "Modules, package folders and zips, separated by commas: for the workers, and for the "
        "driver where SQL names a function of theirs (CREATE FUNCTION ... LANGUAGE PYTHON).",
    ),
    ConfigOption(
        "python.archives",
        "string",
        None,
        "Archives that workers unpack, as `path#folder`, separated by commas; the workers' "
        "working directory then holds these folders.",
    ),
    ConfigOption(
        "python.requirements",
        "string",
        None,
        "A requirements.txt whose packages are installed for the workers; `path#directory` takes "
        "them from the directory.",
    ),
    ConfigOption("python.executable", "string", None, "The interpreter that the workers run."),
    # --- execution
    ConfigOption(
        "execution.runtime-mode",
        "enum",
        "STREAMING",
        "STREAMING, BATCH (one result per key, for bounded sources only), or AUTOMATIC: BATCH if "
        "all sources are bounded. Bounded jobs end by themselves in every mode.",
        choices=("STREAMING", "BATCH", "AUTOMATIC"),
    ),
    ConfigOption(
        "execution.sorted-inputs.memory",
        "memory",
        "128 mb",
        "BATCH mode: how much of a keyed input, encoded as it was exchanged, a subtask holds in "
        "memory while sorting it; the rest goes to temporary files.",
        minimum=1,
    ),
    ConfigOption(
        "execution.buffer-timeout.interval",
        "duration",
        "100 ms",
        "Continuous mode: how long records wait at most for the buffer they travel in to fill: "
        "0 ms sends them at once (lowest latency), -1 ms only full buffers (highest throughput). "
        "A micro-batch is one flush: there it has no effect.",
        minimum=-1,
    ),
    ConfigOption(
        "execution.buffer-timeout.enabled",
        "boolean",
        default=True,
        doc="Continuous mode: whether buffers that are not full are sent after "
        "execution.buffer-timeout.interval.",
    ),
    ConfigOption(
        "execution.attached",
        "boolean",
        default=True,
        doc="Whether `headrace run` waits for the job to end.",
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
        "What runs the job: `spark`, or `local` for this process without Java (all sources but "
        "DataFrames); installed packages may add others (entry points `headrace.hosts`).",
    ),
    ConfigOption(
        "headrace.execution.mode",
        "enum",
        "micro-batch",
        "How Spark runs the job: `micro-batch`, or `continuous` for results within milliseconds, "
        "with all tasks running at the same time.",
        choices=("micro-batch", "continuous"),
    ),
    ConfigOption(
        "headrace.continuous.tick",
        "duration",
        "10 ms",
        "Continuous mode: how often sources are asked for new records.",
        minimum=1,
    ),
    ConfigOption(
        "slot.request.timeout",
        "duration",
        "5 min",
        "Continuous mode: how long a job waits for slots for all of its tasks, when it starts and "
        "when it starts again. Then it fails, and its restart strategy says what comes next.",
        minimum=1,
    ),
    # --- windows
    ConfigOption(
        "headrace.windows.share-panes",
        "boolean",
        default=True,
        doc="Whether sliding windows with a reduce or aggregate function are merged from the time "
        "spans (panes) they share, instead of adding each record to each window.",
    ),
    # --- sources
    ConfigOption(
        "source.max-records-per-batch",
        "int",
        400_000,
        "The most records that one source adds to one micro-batch.",
        minimum=1,
    ),
    ConfigOption(
        "source.max-files-per-batch",
        "int",
        1_000,
        "The most files that one source adds to one micro-batch.",
        minimum=1,
    ),
    # --- checkpoints
    ConfigOption(
        "execution.checkpointing.interval",
        "duration",
        None,
        "Time from the start of one micro-batch to the start of the next; each of them is a "
        "checkpoint. A longer one means more records per batch and higher throughput, but later "
        "results. If not set, the next one starts at once, and a failed job is not restarted.",
        minimum=0,
    ),
    ConfigOption(
        "execution.checkpointing.mode",
        "enum",
        "EXACTLY_ONCE",
        "EXACTLY_ONCE or AT_LEAST_ONCE.",
        choices=("EXACTLY_ONCE", "AT_LEAST_ONCE"),
        effect=Effect.ACCEPTED,
        why="state is always exactly once, at no extra cost",
    ),
    ConfigOption(
        "execution.checkpointing.dir",
        "string",
        None,
        "Where the job's checkpoint goes, one directory per job. If not set it is temporary: a "
        "failed job can be restarted from it, but it does not survive the driver.",
    ),
    ConfigOption(
        "execution.checkpointing.savepoint-dir", "string", None, "Where savepoints go by default."
    ),
    ConfigOption(
        "execution.checkpointing.timeout",
        "duration",
        "10 min",
        "How long a checkpoint may take.",
        minimum=1,
        effect=Effect.ACCEPTED,
        why=(
            "a micro-batch is the work and its checkpoint in one, so it cannot be "
            "abandoned while the work continues: it ends, or the job fails"
        ),
    ),
    ConfigOption(
        "execution.checkpointing.min-pause",
        "duration",
        "0 ms",
        "The shortest time between two checkpoints.",
        minimum=0,
        effect=Effect.ACCEPTED,
        why="micro-batches follow each other without overlap",
    ),
    ConfigOption(
        "execution.checkpointing.max-concurrent-checkpoints",
        "int",
        1,
        "How many checkpoints may overlap.",
        minimum=1,
        effect=Effect.ACCEPTED,
        why="there is one micro-batch at a time",
    ),
    ConfigOption(
        "execution.checkpointing.tolerable-failed-checkpoints",
        "int",
        0,
        "How many checkpoints may fail in a row.",
        minimum=0,
        effect=Effect.ACCEPTED,
        why="a failed micro-batch is a failure of the job, which then restarts",
    ),
    ConfigOption(
        "execution.checkpointing.externalized-checkpoint-retention",
        "enum",
        "NO_EXTERNALIZED_CHECKPOINTS",
        "What happens to execution.checkpointing.dir when a job is cancelled: it is deleted, or "
        "it stays. If nothing is set it stays, too; Flink would delete it.",
        choices=(
            "DELETE_ON_CANCELLATION",
            "RETAIN_ON_CANCELLATION",
            "NO_EXTERNALIZED_CHECKPOINTS",
        ),
    ),
    ConfigOption(
        "execution.checkpointing.num-retained",
        "int",
        1,
        "How many past micro-batches stay readable in a checkpoint besides the newest. On a "
        "cluster and on remote storage Spark clears up, and keeps at least ten.",
        minimum=1,
    ),
    ConfigOption(
        "execution.checkpointing.unaligned.enabled",
        "boolean",
        default=False,
        doc="Whether checkpoints overtake records.",
        effect=Effect.ACCEPTED,
        why=_NO_ALIGNMENT,
    ),
    ConfigOption(
        "execution.checkpointing.unaligned.forced",
        "boolean",
        default=False,
        doc="Whether unaligned checkpoints are used in every program.",
        effect=Effect.ACCEPTED,
        why=_NO_ALIGNMENT,
    ),
    ConfigOption(
        "execution.checkpointing.aligned-checkpoint-timeout",
        "duration",
        "0 ms",
        "When an aligned checkpoint becomes an unaligned one.",
        minimum=0,
        effect=Effect.ACCEPTED,
        why=_NO_ALIGNMENT,
    ),
    ConfigOption(
        "execution.checkpointing.incremental",
        "boolean",
        default=False,
        doc="Whether checkpoints hold only changes.",
        effect=Effect.ACCEPTED,
        why="the state store always writes only changes",
    ),
    ConfigOption(
        "execution.checkpointing.storage",
        "string",
        None,
        "What kind of storage checkpoints go to.",
        effect=Effect.ACCEPTED,
        why="they go to execution.checkpointing.dir",
    ),
    ConfigOption(
        "execution.checkpointing.checkpoints-after-tasks-finish",
        "boolean",
        default=True,
        doc="Whether checkpoints continue when some sources have ended.",
        effect=Effect.ACCEPTED,
        why="finished sources do not stop micro-batches",
    ),
    ConfigOption(
        "execution.checkpointing.snapshot-compression",
        "boolean",
        default=False,
        doc="Whether snapshots are compressed.",
        effect=Effect.ACCEPTED,
        why="savepoints always are: compressed Parquet",
    ),
    # --- state
    ConfigOption(
        "state.backend.type",
        "enum",
        "rocksdb",
        "Where state is kept.",
        choices=("rocksdb", "hashmap"),
        effect=Effect.ACCEPTED,
        why="state is in Spark's RocksDB store, its entries in use in the worker's memory",
    ),
    ConfigOption(
        "state.changelog.enabled",
        "boolean",
        default=False,
        doc="Whether changes of state are written continuously.",
        effect=Effect.ACCEPTED,
        why="the state store always writes changelogs",
    ),
    # --- failures
    ConfigOption(
        "restart-strategy.type",
        "enum",
        None,
        "none, fixed-delay, failure-rate or exponential-delay. If not set: exponential-delay if "
        "execution.checkpointing.interval is set, otherwise none.",
        choices=("none", "off", "disable", "fixed-delay", "failure-rate", "exponential-delay"),
    ),
    ConfigOption(
        "restart-strategy.fixed-delay.attempts", "int", 1, "How often to try again.", minimum=0
    ),
    ConfigOption(
        "restart-strategy.fixed-delay.delay",
        "duration",
        "1 s",
        "Pause before each restart.",
        minimum=0,
    ),
    ConfigOption(
        "restart-strategy.failure-rate.max-failures-per-interval",
        "int",
        1,
        "How many failures within the interval are followed by a restart; one more ends the job.",
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
        "The factor by which the pause grows.",
        minimum=1,
    ),
    ConfigOption(
        "restart-strategy.exponential-delay.reset-backoff-threshold",
        "duration",
        "1 h",
        "After this long without a failure the pause is reset to the first one.",
        minimum=1,
    ),
    ConfigOption(
        "restart-strategy.exponential-delay.jitter-factor",
        "float",
        0.1,
        "By what fraction the pause varies at random, from 0 to 1.",
        minimum=0,
    ),
    ConfigOption(
        "restart-strategy.exponential-delay.attempts-before-reset-backoff",
        "int",
        None,
        "How often to try again; unlimited if not set.",
        minimum=1,
    ),
    # --- jobs on this machine
    ConfigOption(
        "headrace.jobs.dir",
        "string",
        None,
        "Where jobs register for `headrace list`; if not set, jobs/ in the directory that the "
        "variable HEADRACE_HOME names, or ~/.headrace/jobs.",
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
        "A driver that has not renewed its lock for this long loses its checkpoint directory to "
        "the next one; on the same machine a dead driver is noticed at once.",
        minimum=1000,
    ),
    # --- Spark, metrics
    ConfigOption(
        "spark.master",
        "string",
        None,
        "Where Spark runs: local[4], spark://…, yarn, k8s://…. If not set: in this process, with "
        "as many cores as the default parallelism, but at least 2.",
    ),
    ConfigOption(
        "metrics.latency.interval",
        "duration",
        "0 ms",
        "Continuous mode: how often sources send a marker that measures the time to every sink "
        "(latencyP50, P95 and P99, in ms); 0 ms for never. A micro-batch has no markers.",
        minimum=0,
    ),
    ConfigOption(
        "metrics.latency.granularity",
        "enum",
        "operator",
        "How finely latency is broken down.",
        choices=("single", "operator", "subtask"),
        effect=Effect.ACCEPTED,
        why=_ONE_LATENCY,
    ),
    *CLUSTER_OPTIONS,
    *SECURITY_OPTIONS,
    *METRIC_OPTIONS,
    *SCALING_OPTIONS,
    *TABLE_OPTIONS,
    *FOREIGN_TABLE_OPTIONS,
)

OPTIONS: dict[str, ConfigOption[OptionValue]] = {option.key: option for option in _ALL}

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
    "table.exec.async-scalar.buffer-capacity": "table.exec.async-scalar.max-concurrent-operations",
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


def find_option(key: str) -> ConfigOption[OptionValue] | None:
    """The option of a key, also under its name of Flink 1.x; None if it is not known."""
    return OPTIONS.get(_OLD_KEYS.get(key, key)) or reporter_option(key)


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
    lines = ["| Key | Type | Default | Effect | Meaning |", "| --- | --- | --- | --- | --- |"]
    for option in sorted([*_ALL, *FAMILIES], key=lambda option: option.key):
        default = "(none)" if option.default is None else f"`{as_text(option.default)}`"
        kind = " / ".join(option.choices) if option.choices else option.type
        meaning = " ".join(part for part in (option.doc, _reason(option)) if part)
        lines.append(f"| `{option.key}` | {kind} | {default} | {option.effect} | {meaning} |")
    return "\n".join(lines) + "\n"


def _reason(option: ConfigOption[OptionValue]) -> str:
    """Why it does nothing, as a sentence; nothing for an option that acts."""
    taken = f"only {' or '.join(f'`{v}`' for v in option.taken if v)} can be set" * any(
        option.taken
    )
    parts = [part for part in (option.why, taken, option.instead) if part]
    return "".join(f"{part[0].upper()}{part[1:]}. " for part in parts).rstrip()
