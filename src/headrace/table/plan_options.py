"""The options of a session as the planner knows them.

In: `TableConfig`, with variables and files behind it.  Out: `PlanSettings`.
Next: rel/planner.py
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.common.configuration import effective_configuration
from headrace.common.options import OPTIONS
from headrace.errors import ConfigurationError
from headrace.rel.planner import PlanSettings
from headrace.runtime.table.constraints import LENGTH_OPTION, NESTED_OPTION, NOT_NULL_OPTION
from headrace.scalars.session import AsyncCalls, ScalarSession
from headrace.table.table_config import TableConfig

if TYPE_CHECKING:
    from headrace.common.configuration import Configuration

_MATERIALIZE = "table.exec.sink.upsert-materialize"
_DUPLICATES = "table.exec.source.cdc-events-duplicate"
_SENSITIVE = "table.exec.deduplicate.insert-update-after-sensitive-enabled"
_CONFLICT = "table.exec.sink.require-on-conflict"
_PARALLELISM = "table.exec.resource.default-parallelism"
_SORT_LIMIT = "table.exec.sort.default-limit"
_PHASES = "table.optimizer.agg-phase-strategy"
_UIDS, _UID_FORMAT = "table.exec.uid.generation", "table.exec.uid.format"
_BUNDLE = "python.fn-execution.bundle.size"
_AT_ONCE = "table.exec.async-scalar.max-concurrent-operations"
_TIMEOUT = "table.exec.async-scalar.timeout"
_RETRY = "table.exec.async-scalar.retry-strategy"
_RETRY_DELAY = "table.exec.async-scalar.retry-delay"
_ATTEMPTS = "table.exec.async-scalar.max-attempts"


def plan_settings(config: TableConfig, *, bounded: bool) -> PlanSettings:
    """What the options of a session say about plans.

    Raises:
        ConfigurationError: an option is not known, refused, or has a value it cannot have.
    """
    options = effective_configuration(config.get_configuration())
    idle = options.get_duration("table.exec.source.idle-timeout", 0)
    session = ScalarSession(
        time_zone=TableConfig(options).get_local_timezone(),
        query_time_ns=time.time_ns() if bounded else None,
        legacy_cast=options.get_string("table.exec.legacy-cast-behaviour", "").lower() == "enabled",
        async_calls=_async_calls(options),
    )
    return PlanSettings(
        session=session,
        ttl_ms=options.get_duration("table.exec.state.ttl", 0),
        mini_batch=options.get_boolean("table.exec.mini-batch.enabled", default_value=False),
        bundles=options.get_integer(_BUNDLE, 1000) > 1,
        bounded=bounded,
        idle_timeout_ms=idle or None,
        drop_nulls=_choice(options, NOT_NULL_OPTION, ("ERROR", "DROP")) == "DROP",
        lengths=_choice(options, LENGTH_OPTION, ("IGNORE", "TRIM_PAD", "ERROR")),
        nested=_choice(options, NESTED_OPTION, ("IGNORE", "ROWS", "ROWS_AND_COLLECTIONS")),
        materialize=_choice(options, _MATERIALIZE, ("AUTO", "NONE", "FORCE")),
        repeated_changes=options.get_boolean(_DUPLICATES, default_value=False),
        needs_on_conflict=options.get_boolean(_CONFLICT, default_value=False),
        tells_first_lines=options.get_boolean(_SENSITIVE, default_value=True),
        on_event=options.get_string("scan.watermark.emit.strategy", "") == "on-event",
        parallelism=_positive(options, _PARALLELISM),
        sort_limit=_positive(options, _SORT_LIMIT),
        # the same in all modes: savepoints of one are restored in the other
        two_phases=_choice(options, _PHASES, ("AUTO", "TWO_PHASE", "ONE_PHASE")) != "ONE_PHASE",
        uids=_choice(options, _UIDS, ("PLAN_ONLY", "ALWAYS", "DISABLED")),
        uid_format=str(options.get(OPTIONS[_UID_FORMAT])),
    )


def _choice(options: Configuration, name: str, known: tuple[str, ...]) -> str:
    """The value of an option that has a few; the first is its default."""
    value = options.get_string(name, known[0]).upper().replace("-", "_")
    if value not in known:
        raise ConfigurationError(
            f"{name} is {value!r}, which is none of its values", fix=f"set {' or '.join(known)}"
        )
    return value


def _positive(options: Configuration, name: str) -> int | None:
    """A number; None for -1, which asks for none."""
    value = options.get_integer(name, -1)
    if value == -1 or value > 0:
        return None if value == -1 else value
    raise ConfigurationError(f"{name} is {value}", fix="set a positive number, or -1 for none")


def _async_calls(options: Configuration) -> AsyncCalls:
    retries = options.get_integer(_ATTEMPTS, 3)
    return AsyncCalls(
        at_once=options.get_integer(_AT_ONCE, 10),
        timeout_s=options.get_duration(_TIMEOUT, 180_000) / 1000,
        retries=0
        if _choice(options, _RETRY, ("FIXED_DELAY", "NO_RETRY")) == "NO_RETRY"
        else retries,
        delay_s=options.get_duration(_RETRY_DELAY, 100) / 1000,
    )
