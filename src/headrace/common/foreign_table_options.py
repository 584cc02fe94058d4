"""Flink's options of tables and SQL that do not act here, each by its name.

    accepted    it says how Flink plans or runs, and no result can differ
    refused     results would differ, so that only the values are taken that ask for what is done

Out: `FOREIGN_TABLE_OPTIONS`, a part of the table in common/options.py.  A key that is
in none of the lists is unknown, and an error (common/configuration.py).
Next: common/table_options.py has those that act
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.config_options import ConfigOption, Effect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.common.opaque import OptionValue

_DOC = "Of Flink's planner and runtime."

# Why they may be ignored, and which they are.  A line of keys shares its beginning.
_ACCEPTED: dict[str, dict[str, str]] = {
    "a mini-batch is what arrives together: a batch of Spark's, or a buffer": {
        "table.exec.mini-batch.": "allow-latency size",
    },
    "no code is generated": {
        "table.generated-code.": "max-length max-members",
        "table.exec.": "operator-fusion-codegen.enabled",
    },
    "Arrow holds what is sorted, grouped and joined, in the memory of the worker": {
        "table.exec.sort.": "max-num-file-handles async-merge-enabled",
        "table.exec.spill-compression.": "enabled block-size",
        "table.exec.resource.": "external-buffer-memory hash-agg.memory hash-join.memory "
        "sort.memory",
        "table.exec.window-agg.": "buffer-size-limit",
        "table.exec.local-hash-agg.adaptive.": "enabled sampling-threshold "
        "distinct-value-rate-threshold",
    },
    "there is one way to keep the state of this, and its results are the same": {
        "table.exec.sink.upsert-materialize-strategy.": "type adaptive.threshold.low "
        "adaptive.threshold.high",
        "table.exec.": "rank.topn-cache-size unbounded-over.version async-state.enabled",
    },
    "records have no timestamps beside their columns": {"table.exec.sink.": "rowtime-inserter"},
    "lines of one key keep their order on every way": {
        "table.exec.sink.": "keyed-shuffle",
        "table.exec.async-lookup.": "key-ordered-enabled",
    },
    "a batch asks for all its keys at once, and lines keep their order": {
        "table.exec.async-lookup.": "buffer-capacity output-mode",
    },
    "a connection has its own timeout, which the table's options set": {
        "table.exec.async-lookup.": "timeout",
    },
    "lines of an interval join go, and those without a partner come, when event time allows": {
        "table.exec.interval-join.": "min-cleanup-interval",
    },
    "table functions are called one line after another": {
        "table.exec.async-table.": "max-concurrent-operations timeout retry-strategy retry-delay "
        "max-retries",
    },
    "there are no models: ML_PREDICT is refused where it is written": {
        "table.exec.async-ml-predict.": "max-concurrent-operations timeout output-mode",
    },
    "there is no VECTOR_SEARCH: it is refused where it is written": {
        "table.exec.async-vector-search.": "max-concurrent-operations timeout output-mode",
    },
    "each kind of join has one operator here, with the same results": {
        "table.exec.": "disabled-operators delta-join.cache-enabled delta-join.left.cache-size "
        "delta-join.right.cache-size dynamic-filtering.threshold",
        "table.optimizer.": "multi-join.enabled join.broadcast-threshold "
        "adaptive-broadcast-join.strategy join-reorder-enabled bushy-join-reorder-threshold "
        "skewed-join-optimization.strategy skewed-join-optimization.skewed-factor "
        "skewed-join-optimization.skewed-threshold dynamic-filtering.enabled "
        "runtime-filter.enabled runtime-filter.max-build-data-size "
        "runtime-filter.min-probe-data-size runtime-filter.min-filter-ratio",
    },
    "it says how Flink finds a plan, not what the plan gives": {
        "table.optimizer.": "distinct-agg.split.enabled "
        "distinct-agg.split.bucket-num incremental-agg-enabled reuse-sub-plan-enabled "
        "reuse-source-enabled reuse-sink-enabled source.report-statistics-enabled "
        "multiple-input-enabled sql2rel.project-merge.enabled union-all-as-breakpoint-enabled "
        "reuse-optimize-block-with-digest-enabled ptf.max-tables",
    },
    "names of steps are short": {"table.exec.": "simplify-operator-name-enabled"},
    "nothing is downloaded by the planner": {"table.resources.": "download-dir"},
    "no connector here can write a table aside and put it in place, and Flink's do not, either": {
        "table.rtas-ctas.": "atomicity-enabled",
    },
    "the client has no colours and no line numbers to choose": {
        "sql-client.display.": "color-schema show-line-numbers",
    },
}

_WINDOWS = "windows have one result, when they close, and this asks for earlier or later ones"
_GROUP = "leave it out; for early results use CUMULATE, or GROUP BY FLOOR(ts TO MINUTE)"
_LATER = "keep the watermark further back: WATERMARK FOR ts AS ts - INTERVAL '1' HOUR"

_PLANS = "a compiled plan has its tables in it, with their columns and options"
_TEXT = "leave it out; to change options of a table, compile the plan again"

# key: which values ask for what is done anyway, why no other can be, what to do instead
_REFUSED: dict[str, tuple[tuple[str, ...], str, str]] = {
    "table.exec.emit.early-fire.enabled": (("false",), _WINDOWS, _GROUP),
    "table.exec.emit.early-fire.delay": ((), _WINDOWS, _GROUP),
    "table.exec.emit.late-fire.enabled": (("false",), _WINDOWS, _LATER),
    "table.exec.emit.late-fire.delay": ((), _WINDOWS, _LATER),
    "table.exec.emit.allow-lateness": (("0", "0 ms", "0 s"), _WINDOWS, _LATER),
    "table.optimizer.non-deterministic-update.strategy": (
        ("IGNORE",),
        "plans are not searched for functions that give another value when a line is taken back",
        "leave such functions out of queries that change: put them behind the GROUP BY, or into a "
        "table that is written first",
    ),
    "table.optimizer.delta-join.strategy": (
        ("AUTO", "NONE"),
        "there are no delta joins: joins keep both sides",
        "set table.exec.state.ttl, or the hint STATE_TTL, to bound what is kept",
    ),
    "table.catalog-modification.listeners": (
        ("",),
        "listeners of catalogs are Java classes",
        "call what should be told in the program that executes the statement",
    ),
    "table.exec.deduplicate.mini-batch.compact-changes-enabled": (
        ("false",),
        "a deduplication by event time tells all its changes, also those within a mini-batch",
        "leave it out; where only the last change counts, write into a table with a primary key",
    ),
    "table.plan.compile.catalog-objects": (("ALL",), _PLANS, _TEXT),
    "table.plan.restore.catalog-objects": (("ALL", "ALL_ENFORCED"), _PLANS, _TEXT),
    "table.column-expansion-strategy": (
        ("",),
        "SELECT * has all columns of a table",
        "name the columns, or leave metadata columns out by a view",
    ),
    "table.legacy-nested-row-nullability": (
        ("false",),
        "fields of rows keep their NOT NULL, as since Flink 2.2",
        "declare the fields without NOT NULL",
    ),
    "table.catalog-store.kind": (
        ("generic_in_memory",),
        "catalogs are remembered for the session only",
        "put CREATE CATALOG into a file, and start with it: headrace sql -i init.sql",
    ),
    "table.secret-store.kind": (
        ("generic_in_memory",),
        "there is no store of secrets",
        "give a connector what it needs by its own options, from the environment",
    ),
}


def _accepted() -> Iterator[ConfigOption[OptionValue]]:
    for why, groups in _ACCEPTED.items():
        for prefix, names in groups.items():
            for name in names.split():
                yield ConfigOption(f"{prefix}{name}", doc=_DOC, effect=Effect.ACCEPTED, why=why)


def _refused() -> Iterator[ConfigOption[OptionValue]]:
    for key, (taken, why, instead) in _REFUSED.items():
        yield ConfigOption(
            key, doc=_DOC, effect=Effect.REFUSED, why=why, instead=instead, taken=taken
        )


FOREIGN_TABLE_OPTIONS: tuple[ConfigOption[OptionValue], ...] = (*_accepted(), *_refused())
