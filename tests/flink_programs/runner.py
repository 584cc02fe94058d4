"""Runs one program on the local host, and compares what its sinks got.

In: `Program` (steps.py).  Out: `Outcome`.  A program with rows after Flink's restart runs in two
parts: a job that stops with a savepoint, and one that goes on from it to the end of input, as in
Flink's tests.  Next: report.py
"""

from __future__ import annotations

import datetime as dt
import functools
import signal
import tempfile
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from flink_programs.functions import TWINS
from flink_programs.java_syntax import NotRead
from flink_programs.java_values import java_string
from flink_programs.scope import outside_of_issue
from flink_programs.steps import JavaRow, Program, Symbol, TableStep, flat, option_key
from flink_programs.values_connector import AT_ONCE, PART, RESULTS, SOURCES, WAITING
from headrace.common import Configuration
from headrace.connectors.tables import TABLE_CONNECTORS
from headrace.errors import HeadraceError, PlanError, SqlError
from headrace.formats.line_text import KIND_SIGNS, java_datetime, java_instant, java_time
from headrace.formats.text_form import java_text
from headrace.table import EnvironmentSettings, TableEnvironment
from headrace.table.expression import Expression

PASS, FAIL, OUTSIDE, UNREAD = "pass", "fail", "not in the issue", "not read"
SECONDS = 30


@dataclass(frozen=True)
class Outcome:
    """How a program ended: a word, and the reason for people."""

    word: str
    reason: str = ""


class NoTwin(Exception):
    """A Java class that has no Python twin."""


class _TooLong(Exception):
    pass


def judge(program: Program) -> Outcome:
    """Runs a program, for a limited time."""
    reason = outside_of_issue(program)
    if reason is not None:
        return Outcome(OUTSIDE, reason)
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(SECONDS)
    try:
        return run(program)
    except NoTwin as missing:
        return Outcome(OUTSIDE, str(missing))
    except NotRead as unread:
        return Outcome(UNREAD, str(unread))
    except _TooLong:
        return Outcome(FAIL, f"did not end within {SECONDS} s")
    except Exception as error:
        told = str(error).splitlines() or [""]
        return Outcome(FAIL, f"{type(error).__name__}: {told[0]}")
    finally:
        signal.alarm(0)


def _stop(*_: Any) -> None:
    raise _TooLong


def run(program: Program) -> Outcome:
    """Runs a program and compares."""
    SOURCES.clear()
    RESULTS.clear()
    AT_ONCE[0] = bool(program.__dict__.get("batch"))
    TABLE_CONNECTORS._own["values"] = "flink_programs.values_connector:ValuesTables"
    with tempfile.TemporaryDirectory(prefix="flink-programs-") as directory:
        failing = _in_parts(program, directory)
    if failing is not None:
        return failing
    for sink in program.tables("setupTableSink"):
        outcome = _compare(sink, changelog=sink.changelog and not _mini_batch(program))
        if outcome.word != PASS:
            return outcome
    return Outcome(PASS)


def _in_parts(program: Program, directory: str) -> Outcome | None:
    """One job, or one that stops where Flink's restart is and one that goes on."""
    PART[0] = ""
    savepoint = None
    if _is_restarted(program):
        PART[0] = "first"
        WAITING.clear()
        clients = _run_steps(_environment(program), program, wait=False)
        try:
            _until_waiting(clients)
        finally:
            PART[0] = "second"
        savepoint = clients[0].stop_with_savepoint(False, directory).result()
    return _ended(program, _environment(program, savepoint))


def _is_restarted(program: Program) -> bool:
    steps = program.tables("setupTableSource")
    words = {word for word, _ in program.steps}
    return (
        not program.__dict__.get("batch")
        and not words & {"runFailingSql", "runFailingTableApi"}
        and any(step.before for step in steps)
        and any(step.after for step in steps)
    )


def _until_waiting(clients: list[Any]) -> None:
    while not WAITING.wait(0.01):
        for client in clients:
            if client._job.wait(0) and client._job.error is not None:
                raise client._job.error


def _environment(program: Program, savepoint: str | None = None) -> TableEnvironment:
    settings = Configuration().set_string("headrace.execution.host", "local")
    made = EnvironmentSettings.new_instance().with_configuration(settings)
    made = made.in_batch_mode() if program.__dict__.get("batch") else made.in_streaming_mode()
    env = TableEnvironment.create(made.build())
    env.get_config().set("parallelism.default", "1")
    env.get_config().set("table.local-time-zone", "UTC")
    env.get_config().set("python.fn-execution.bundle.size", "1")
    if savepoint is not None:
        env.get_config().set("execution.state-recovery.path", savepoint)
    for word, arguments in program.steps:
        _setup(env, word, arguments)
    return env


def _setup(env: TableEnvironment, word: str, arguments: tuple[Any, ...]) -> None:
    if word == "setupConfig":
        env.get_config().set(option_key(arguments[0]), _setting(arguments[1]))
    elif word in ("setupTableSource", "setupTableSources"):
        for step in flat(arguments):
            SOURCES[step.name.strip("`")] = step
            if "WATERMARK" in " ".join(step.schema).upper():
                # Flink emits a watermark behind each line that raises it by more than 200 ms
                env.get_config().set("scan.watermark.emit.strategy", "on-event")
            env.execute_sql(step.ddl("values"))
    elif word in ("setupTableSink", "setupTableSinks"):
        for step in flat(arguments):
            step.options.setdefault("sink-insert-only", "false")
            env.execute_sql(step.ddl("values"))
    elif word == "setupSql":
        env.execute_sql(arguments[0])
    elif word in ("setupTemporarySystemFunction", "setupTemporaryCatalogFunction"):
        env.create_temporary_system_function(arguments[0], _twin(arguments[1]))
    elif word == "setupCatalogFunction":
        env.create_temporary_function(arguments[0], _twin(arguments[1]))
    elif word.startswith("setup"):
        raise NotRead(word)


def _twin(java_class: Symbol) -> Any:
    made = TWINS.get(java_class.name)
    if made is None:
        raise NoTwin(f"the Java class {java_class.name} has no Python twin")
    return made()


def _setting(value: Any) -> str:
    if isinstance(value, dt.timedelta):
        return f"{int(value.total_seconds() * 1000)} ms"
    return java_string(value)


class TableApi:
    """What the lambda of a program calls `env`."""

    def __init__(self, env: TableEnvironment) -> None:
        self._env = env

    def __getattr__(self, name: str) -> Any:
        if name == "from":
            return self._env.from_path
        if name == "from_values":
            return self._values
        return getattr(self._env, name)

    def _values(self, *rows: Any) -> Any:
        one = self._env.sql_query("VALUES (1)")
        tables = [
            one.select(*(Expression(item, str(item)) for item in row._value.items)) for row in rows
        ]
        return functools.reduce(lambda left, right: left.union_all(right), tables)


def _ended(program: Program, env: TableEnvironment) -> Outcome | None:
    """Runs all statements to their end; an outcome if that is all there is to say."""
    for word, arguments in program.steps:
        if word == "runFailingSql":
            return _refused(lambda: env.execute_sql(arguments[0]).wait(), arguments[1])  # noqa: B023
        if word == "runFailingTableApi":
            return _refused(
                lambda: arguments[0](TableApi(env)).execute_insert(arguments[1]).wait(),  # noqa: B023
                arguments[2],
            )
    _run_steps(env, program, wait=True)
    sinks = program.tables("setupTableSink")
    return None if sinks else Outcome(PASS, "ran; it has no sink to compare")


def _run_steps(env: TableEnvironment, program: Program, *, wait: bool) -> list[Any]:
    """Runs all statements; the clients of their jobs."""
    words = [word for word, _ in program.steps]
    clients = []
    for word, arguments in program.steps:
        if word == "runTableApi":
            result = arguments[0](TableApi(env)).execute_insert(arguments[1])
        elif word == "runSql":
            text = arguments[0]
            if "runTableApi" in words and not text.lstrip().upper().startswith("INSERT"):
                continue
            result = env.execute_sql(text)
        elif word == "runStatementSet":
            together = env.create_statement_set()
            for text in flat(arguments):
                together.add_insert_sql(text)
            result = together.execute()
        else:
            continue
        clients.append(result.get_job_client())
        if wait:
            result.wait()
    return [client for client in clients if client is not None]


def _refused(attempt: Any, expected: Symbol) -> Outcome:
    try:
        attempt()
    except HeadraceError as error:
        told = str(error).splitlines()[0]
        if "LotsSource" in str(error):
            return Outcome(FAIL, f"refused by the judge's own source, not by headrace: {told}")
        if expected.name == "TableRuntimeException" and isinstance(error, (SqlError, PlanError)):
            return Outcome(FAIL, f"refused when planned, where Flink fails at run time: {told}")
        return Outcome(PASS, f"refused, as Flink does: {told}")
    return Outcome(FAIL, "ran, and Flink refuses it")


def _mini_batch(program: Program) -> bool:
    """Whether the changelog depends on where batches are cut, which is no part of the meaning."""
    return any(
        word == "setupConfig" and option_key(given[0]) == "table.exec.mini-batch.enabled"
        for word, given in program.steps
    )


def final_texts(rows: list[Any], key: tuple[int, ...]) -> list[str]:
    """The table that is left of expected changes; keys only of texts without commas."""
    kept: dict[Any, list[str]] = {}
    for text in map(expected_text, rows):
        sign, cells = text[:2], text[3:-1].split(", ")
        known = tuple(cells[place] for place in key) if key else text[2:]
        if sign in ("+I", "+U"):
            kept.setdefault(known, []).append(f"+I{text[2:]}")
            if key:
                kept[known] = kept[known][-1:]
        elif kept.get(known):
            kept[known].pop()
    return [text for texts in kept.values() for text in texts]


def _compare(sink: TableStep, *, changelog: bool) -> Outcome:
    written = RESULTS.get(sink.name.strip("`"))
    if written is None:
        return Outcome(PASS)
    expected = sink.before + sink.after
    if not sink.changelog and sink.materialized is not None:
        expected = sink.materialized
    wanted = Counter(
        final_texts(expected, written.key)
        if sink.changelog and not changelog
        else map(expected_text, expected)
    )
    found = Counter(written.changelog() if changelog else written.materialized())
    if wanted == found:
        return Outcome(PASS)
    missing, extra = sorted((wanted - found).elements()), sorted((found - wanted).elements())
    return Outcome(FAIL, f"{sink.name}: missing {_some(missing)}, instead {_some(extra)}")


def _some(texts: list[str]) -> str:
    more = f" and {len(texts) - 4} more" if len(texts) > 4 else ""
    return "; ".join(texts[:4]) + more if texts else "nothing"


def expected_text(row: Any) -> str:
    """What Flink shows of an expected row."""
    return row if isinstance(row, str) else _text(row)


def _text(value: Any) -> str:
    if isinstance(value, JavaRow):
        return f"{KIND_SIGNS[value.kind]}[{', '.join(map(_text, value.cells))}]"
    if value is None or isinstance(value, (bool, str)):
        return java_string(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k)}={_text(v)}" for k, v in value.items()) + "}"
    if isinstance(value, bytes):
        return f"[{', '.join(str(b - 256 if b > 127 else b) for b in value)}]"
    if isinstance(value, dt.datetime):
        return java_datetime(value) if value.tzinfo is None else java_instant(value)
    if isinstance(value, dt.time):
        return java_time(value)
    if isinstance(value, (dt.date, Decimal)):
        return str(value)
    return java_text(value)
