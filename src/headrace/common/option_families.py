"""Flink's options that headrace does not know one by one: what becomes of all that begin alike.

Out: ``find_family(key)``, a ConfigOption whose key ends in ``*``: accepted without
effect, so that programs move, or refused where silence would do harm.
Next: common/configuration.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.config_options import ConfigOption, Effect

if TYPE_CHECKING:
    from headrace.common.opaque import OptionValue


def _accepted(prefix: str, why: str) -> ConfigOption[OptionValue]:
    return ConfigOption(f"{prefix}*", effect=Effect.ACCEPTED, why=why)


def _refused(prefix: str, why: str, instead: str) -> ConfigOption[OptionValue]:
    return ConfigOption(f"{prefix}*", effect=Effect.REFUSED, why=why, instead=instead)


_METRICS = (
    "a dispatcher answers Prometheus and REST without further settings, and a driver alone on "
    "metrics.reporter.prom.port"
)
_NO_REST = "the REST API has no such setting"
_FILES = "Spark writes the files of state"

FAMILIES: tuple[ConfigOption[OptionValue], ...] = (
    _accepted(
        "python.", "Spark's Python workers are configured by spark.python.* and spark.pyspark.*"
    ),
    _accepted("taskmanager.", "Spark's executors are configured by spark.executor.*"),
    _accepted("jobmanager.", "Spark's driver is configured by spark.driver.*"),
    _accepted("task.", "Spark cancels tasks"),
    _accepted("env.", "Spark's JVMs are configured by spark.driver.* and spark.executor.*"),
    _accepted("classloader.", "there are no Java user classes"),
    _accepted("execution.async-state.", "state is read from memory, or in pages"),
    _accepted("execution.batch", "Spark runs the exchanges of batch jobs"),
    _accepted("execution.checkpointing.cleaner.", "Spark removes old checkpoints"),
    _accepted("execution.checkpointing.create-subdir", "a job has its own directory"),
    _accepted("execution.checkpointing.data-inline-threshold", _FILES),
    _accepted("execution.checkpointing.file-merging.", _FILES),
    _accepted("execution.checkpointing.local-backup.", "Spark places tasks near their state"),
    _accepted("execution.checkpointing.unaligned.", "micro-batches need no alignment"),
    _accepted("execution.checkpointing.write-buffer-size", _FILES),
    _accepted("execution.shutdown-on-", "the job ends with its program"),
    _accepted("execution.sort", "Spark sorts"),
    _accepted("execution.state-recovery.claim-mode", "a savepoint stays the user's"),
    _accepted("execution.savepoint-restore-mode", "a savepoint stays the user's"),
    _accepted("execution.target", "Spark's master is set by spark.master"),
    _accepted("pipeline.vertex-", "steps keep their names"),
    _accepted("metrics.fetcher.", _METRICS),
    _accepted("metrics.internal.", _METRICS),
    _accepted("metrics.job.", _METRICS),
    _accepted("metrics.latency.history-size", _METRICS),
    _accepted(
        "metrics.reporter",
        "there are reporters to Prometheus and OpenTelemetry, and neither has this setting",
    ),
    _accepted("metrics.scope.", _METRICS),
    _accepted("metrics.system-resource", _METRICS),
    _accepted("rest.async.", _NO_REST),
    _accepted("rest.await-leader-timeout", _NO_REST),
    _accepted("rest.cache.", _NO_REST),
    _accepted("rest.client.", _NO_REST),
    _accepted("rest.connection-timeout", _NO_REST),
    _accepted("rest.idleness-timeout", _NO_REST),
    _accepted("rest.path", _NO_REST),
    _accepted("rest.profiling.", _NO_REST),
    _accepted("rest.retry.", _NO_REST),
    _accepted("rest.server.", _NO_REST),
    _accepted("rest.url-prefix", _NO_REST),
    _accepted("restart-strategy.cleanup", "there is nothing to clean up"),
    _accepted(
        "state.backend.forst.",
        "Spark's state store is configured by spark.sql.streaming.stateStore.*",
    ),
    _accepted("state.backend.fs.", _FILES),
    _accepted("state.backend.latency-track.", "Spark measures its state store"),
    _accepted("state.latency-track.", "Spark measures its state store"),
    _accepted("state.size-track.", "Spark measures its state store"),
    _accepted("state.storage.fs.", _FILES),
    _accepted("traces.", _METRICS),
    _accepted(
        "state.backend.rocksdb.",
        "Spark's state store is configured by spark.sql.streaming.stateStore.*",
    ),
    _accepted("state.backend.local-recovery", "Spark places tasks near their state"),
    _accepted("state.changelog.", "Spark's state store writes changelogs"),
    _accepted("pipeline.default-kryo-serializers", "there is no Kryo"),
    _accepted("pipeline.force-", "there is no Kryo and no Avro"),
    _accepted("pipeline.registered-", "there is no Kryo"),
    _accepted("pipeline.serialization-config", "types are declared in Python"),
    _accepted("pipeline.closure-cleaner-level", "functions are pickled by cloudpickle"),
    _accepted("pipeline.operator-chaining.", "chains only need the same parallelism"),
    _accepted("high-availability.", "a dispatcher has one port, that of its REST API"),
    _accepted("kubernetes.", "Spark on Kubernetes is configured by spark.kubernetes.*"),
    _accepted("yarn.", "Spark on YARN is configured by spark.yarn.*"),
    _accepted(
        "heartbeat.", "Spark's heartbeats are configured by spark.executor.heartbeatInterval"
    ),
    _accepted("akka.", "there is no Akka"),
    _accepted("pekko.", "there is no Pekko"),
    _accepted("blob.", "Spark ships files"),
    _accepted("slot.", "Spark places tasks"),
    _accepted("slotmanager.", "Spark places tasks"),
    _accepted("cluster.", "Spark manages the cluster"),
    _accepted("jobstore.", "Spark's history server is configured by spark.history.*"),
    _refused(
        "security.",
        "headrace does not know this setting of Flink's, and ignoring it would be dangerous",
        "for REST: security.ssl.rest.keystore and the others of docs/security.md; for Spark: "
        "security.ssl.internal.enabled, or its own spark.ssl.*, spark.kerberos.*",
    ),
    _refused(
        "fs.",
        "Spark opens the file systems, and would ignore this",
        "set it for Hadoop's file systems: spark.hadoop.fs.*",
    ),
    _accepted("io.", "Spark's local directories are configured by spark.local.dir"),
    _accepted("web.", _NO_REST),
    _accepted("historyserver.", "Spark's history server is configured by spark.history.*"),
    _refused(
        "table.catalog-store.",
        "catalogs are remembered for the session only",
        "put CREATE CATALOG into a file, and start with it: headrace sql -i init.sql",
    ),
    _refused(
        "table.secret-store.",
        "there is no store of secrets",
        "give a connector what it needs by its own options, from the environment",
    ),
    _accepted("sql-gateway.", "there is no gateway of Flink's: `headrace sql` asks a dispatcher"),
    _accepted("materialized-table.", "there are no materialized tables: CREATE refuses them"),
    _accepted("pipeline.time-characteristic", "tables and windows say which time they go by"),
)


def find_family(key: str) -> ConfigOption[OptionValue] | None:
    """The family that an option of Flink belongs to; None if it belongs to none."""
    return next((each for each in FAMILIES if key.startswith(each.key[:-1])), None)
