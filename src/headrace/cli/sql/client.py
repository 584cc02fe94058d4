"""One session of SQL: executes statements, and has their results shown.

In: statements (cli/sql/script.py).  Out: calls of a `ResultDisplay`.  SET, RESET, SHOW JOBS,
STOP JOB and the client's own commands are answered here; table/statements/ executes the rest.
Next: cli/sql/display.py or cli/sql/json_lines.py show results
"""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.cli.sql import jobs
from headrace.cli.sql.dispatched import DispatchedSession
from headrace.cli.sql.display import ShownJob
from headrace.cli.sql.progress import StatementProgress
from headrace.cli.sql.settings import (
    RUNTIME_MODE,
    VERBOSE,
    DisplaySettings,
    display_settings,
    is_true,
)
from headrace.cli.sql.statement_sets import OpenStatementSet, not_ended, not_open
from headrace.cli.targets import LocalJobs, RemoteJobs
from headrace.common.configuration import Configuration, effective_configuration
from headrace.common.interruptible import UndisturbedCall
from headrace.common.options import OPTIONS
from headrace.control.job import running_jobs
from headrace.control.registry import JobRegistry
from headrace.errors import (
    ConfigurationError,
    HeadraceError,
    JobError,
    SqlError,
    UnsupportedStepError,
)
from headrace.sql import ddl_ast as d
from headrace.sql import statement_ast as s
from headrace.table.environment_settings import EnvironmentSettings
from headrace.table.parsing import parsed_statement
from headrace.table.result_kind import ResultKind
from headrace.table.statements import execute
from headrace.table.statements.dml import explained
from headrace.table.table_environment import TableEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.cli.sql.display import ResultDisplay
    from headrace.cli.sql.script import ScriptStatement
    from headrace.cli.targets import Jobs
    from headrace.client import RestClient
    from headrace.control.registry import JobRecord
    from headrace.spi.executor import JobHandle
    from headrace.table.table_result import TableResult

_PATIENCE_S = 30.0
_SAVEPOINTS = "execution.checkpointing.savepoint-dir"
_LOOK_S = 0.1
_WAIT_FOR_INSERTS = "table.dml-sync"


class LeaveClientError(Exception):
    """QUIT or EXIT was said."""


class SqlClient:
    """A session.

    Args:
        options: what -D, variables and headrace.toml say.
        display: where results go.
        interactive: whether a person sits at a terminal: results are shown in table mode then.
        clear: empties the terminal.
        help_text: what HELP says.
        dispatcher: runs INSERTs as jobs that outlive this session; without one they run here.
    """

    def __init__(
        self,
        options: Mapping[str, str],
        display: ResultDisplay,
        *,
        interactive: bool = False,
        clear: Callable[[], None] = lambda: None,
        help_text: str = "",
        dispatcher: RestClient | None = None,
    ) -> None:
        self._interactive, self._clear, self._help = interactive, clear, help_text
        self._initial = dict(options)
        self.display = display
        _check_mode(self._initial.get(RUNTIME_MODE, "STREAMING"))
        settings = EnvironmentSettings(Configuration.from_dict(dict(self._initial)))
        self.env = TableEnvironment.create(settings)
        # jobs of INSERTs that nobody waits for, until their end has been told
        self._jobs: list[JobHandle] = []
        self.has_started_jobs = False
        self._place = ("<statement>", 1)  # of the statement that is executed
        self._set_of_inserts: OpenStatementSet | None = None
        self._dispatcher = dispatcher
        self._dispatched = None if dispatcher is None else DispatchedSession(dispatcher)

    # --- statements --------------------------------------------------------------------------

    def run(self, statement: ScriptStatement, source: str | None = None) -> None:
        """Execute a statement, and show its result until it ends.

        Args:
            statement: the statement.
            source: the name of the script it stands in; errors tell the place in it.

        Raises:
            LeaveClientError: the statement is QUIT.
            HeadraceError: it is wrong, or its job has failed.
            KeyboardInterrupt: the user has ended it; so have its jobs.
        """
        with placed_errors(statement, source), self._ending_jobs():
            parsed = parsed_statement(statement.placed)
            self._place = (source or "<statement>", statement.line)
            _called_from(*self._place, lambda: self._execute(parsed, statement.text))

    def _execute(self, statement: s.SqlStatement, text: str) -> None:
        if self._set_of_inserts is not None:
            self._set_of_inserts.check(statement)
        match statement:
            case s.ClientCommand():
                self._command(statement.name)
            case s.SetStatement() if statement.key is not None:
                self._set(statement.key, statement.value or "")
                self.display.ok()
            case s.ResetStatement():
                self._reset(statement.key)
                self.display.ok()
            case s.ShowStatement(what="JOBS"):
                self._show(jobs.show_jobs(self._known_jobs()))
            case s.DescribeStatement(kind="JOB"):
                self._show(jobs.describe_job(self._known_jobs(), statement.name.parts[0]))
            case s.StopJob():
                folder = self.env.get_config().get(_SAVEPOINTS, "") or None
                self._show(jobs.stop_job(self._known_jobs(), statement, folder))
            case s.BeginStatementSet():
                self._set_of_inserts = OpenStatementSet()
                self.display.ok()
            case s.InsertStatement() if self._set_of_inserts is not None:
                self._set_of_inserts.add(self.env, statement, text)
                self.display.ok()
            case s.EndStatementSet():
                self._end_set()
            case s.InsertStatement() | s.StatementSetStatement() if self._dispatched is not None:
                explained(self.env, statement, ())  # what is wrong with it is told before
                self._dispatch(self._dispatched, text)
            case _:
                if self._dispatched is not None:
                    _refuse_other_jobs(statement)
                self._show(self._done(lambda: execute(self.env, statement)))
                if self._dispatched is not None:
                    self._dispatched.executed(statement, text)

    def _end_set(self) -> None:
        """Run the INSERTs of the open set; it is gone then, even if they fail."""
        ended, self._set_of_inserts = self._set_of_inserts, None
        if ended is None:
            raise not_open()
        if not ended.inserts:
            self.display.ok()
        elif self._dispatched is not None:
            self._dispatch(self._dispatched, ended.text)
        else:
            inserts = ended.inserts
            self._show(self._done(lambda: self.env._run_inserts(inserts)))

    def _done(self, call: Callable[[], TableResult]) -> TableResult:
        """What a call gives that may start Spark and a job, or even wait for its end.

        Ctrl-C ends the waiting; a job that the call still starts ends at once.
        """
        before = set(running_jobs())
        starts_spark = self._runs_on_spark() and not self.has_started_jobs
        progress = StatementProgress(
            lambda: [job for job in running_jobs() if job not in before],
            "Spark starts" if starts_spark else "",
        )
        results: list[TableResult] = []
        place = self._place
        working = UndisturbedCall(
            lambda: _called_from(*place, lambda: results.append(call())),
            "headrace-sql-statement",
            lambda _: _cancel_jobs_of(results),
        )
        try:
            working.begin()
            with self.display.waiting(progress) as line:
                while not working.wait(_LOOK_S):
                    line.look()
        except BaseException:
            working.give_up()
            raise
        working.result()
        return results[0]

    def check_ended(self) -> None:
        """Refuse to leave INSERTs behind that wait for END.

        Raises:
            InvalidArgumentError: a statement set is open.
        """
        if self._set_of_inserts is not None and self._set_of_inserts.inserts:
            raise not_ended()

    def _dispatch(self, dispatched: DispatchedSession, text: str) -> None:
        """Have an INSERT run by the dispatcher."""
        record = dispatched.start(text, self._options(), streaming=self.env._streaming)
        self.has_started_jobs = True
        if not is_true(self._effective(), _WAIT_FOR_INSERTS):
            self.display.submitted(_shown_record(record))
            return
        ended = jobs.wait_for_end(self._known_jobs(), record, math.inf)
        self.display.ended(_shown_record(ended))
        if ended.error is not None:
            raise JobError(ended.error, where=f"job {ended.job_id}")

    def _command(self, name: str) -> None:
        if name == "QUIT":
            raise LeaveClientError
        if name == "CLEAR":
            self._clear()
        else:
            self.display.note(self._help)

    def _show(self, result: TableResult) -> None:
        client = result.get_job_client()
        if client is None:
            if result.get_result_kind() == ResultKind.SUCCESS:
                self.display.ok()
            else:
                self.display.known(result)
            return
        self.has_started_jobs = True
        job = client._job
        if _is_insert(result):
            self._submitted(job)
        else:
            self.display.query(result, self.display_settings())
            job.wait(_PATIENCE_S)

    def _submitted(self, job: JobHandle) -> None:
        if job.wait(0) and job.error is None:  # table.dml-sync
            self.display.ended(_shown(job))
            return
        self._jobs.append(job)
        self.display.submitted(_shown(job))

    @contextlib.contextmanager
    def _ending_jobs(self) -> Iterator[None]:
        """Ctrl-C ends the jobs that the statement has started, and no others."""
        before = set(running_jobs())
        try:
            yield
        except KeyboardInterrupt:
            started = [job for job in running_jobs() if job not in before]
            for job in started:
                job.cancel()
            for job in started:
                job.wait(_PATIENCE_S)
            self._jobs = [job for job in self._jobs if job not in started]
            raise

    # --- options -----------------------------------------------------------------------------

    def _options(self) -> Mapping[str, str]:
        return self.env.get_config().to_map()

    def _set(self, key: str, value: str) -> None:
        try:
            effective_configuration(Configuration.from_dict({key: value}), environment={})
        except ConfigurationError as error:
            error.where = None  # the statement
            raise
        if key == RUNTIME_MODE:
            _check_mode(value)
        self.env.get_config().set(key, value)
        self._heed_mode()

    def _reset(self, key: str | None) -> None:
        """Back to what the client was started with."""
        options = self.env.get_config().get_configuration()
        for each in list(options.key_set()) if key is None else [key]:
            options.remove_config(each)
            if each in self._initial:
                options.set_string(each, self._initial[each])
        self._heed_mode()

    def _heed_mode(self) -> None:
        """A session of the client may change its mode; the environment of a program may not."""
        mode = self._options().get(RUNTIME_MODE, "STREAMING")
        self.env._streaming = mode.upper() != "BATCH"

    def display_settings(self) -> DisplaySettings:
        """How results are shown now."""
        return display_settings(
            self._effective(),
            zone=self.env.get_config().get_local_timezone(),
            streaming=self.env._streaming,
            interactive=self._interactive,
        )

    @property
    def is_verbose(self) -> bool:
        """Whether errors come with their traceback."""
        return is_true(self._effective(), VERBOSE)

    def _effective(self) -> Configuration:
        """The options with those of variables and of the file behind them."""
        return effective_configuration(self.env.get_config().get_configuration())

    def _runs_on_spark(self) -> bool:
        return str(self._effective().get(OPTIONS["headrace.execution.host"])).lower() == "spark"

    def _known_jobs(self) -> Jobs:
        if self._dispatcher is not None:
            return RemoteJobs(self._dispatcher)
        return LocalJobs(JobRegistry.of(self._effective()))

    # --- jobs --------------------------------------------------------------------------------

    def running(self) -> list[JobHandle]:
        """Jobs of INSERTs that have not ended."""
        return [job for job in self._jobs if not job.wait(0)]

    def tell_ended(self) -> list[BaseException]:
        """Tell which jobs have ended since the last time; their errors."""
        ended = [job for job in self._jobs if job.wait(0)]
        self._jobs = [job for job in self._jobs if job not in ended]
        for job in ended:
            self.display.ended(_shown(job))
        return [job.error for job in ended if job.error is not None]

    def wait_for_jobs(self) -> list[BaseException]:
        """Wait until all jobs have ended, as they live in this process; the errors of failed ones.

        Raises:
            KeyboardInterrupt: the user does not want to wait; the jobs are cancelled.
        """
        waiting = self.running()
        if waiting:
            self.display.note(f"waiting for the end of {_count(waiting)}; Ctrl-C cancels")
        try:
            with self.display.waiting(StatementProgress(lambda: waiting)) as line:
                for job in waiting:
                    while not job.wait(_LOOK_S):
                        line.look()
        except KeyboardInterrupt:
            self.cancel_jobs()
            raise
        return self.tell_ended()

    def cancel_jobs(self) -> None:
        """End all jobs of this session."""
        running = self.running()
        for job in running:
            job.cancel()
        for job in running:
            job.wait(_PATIENCE_S)
        self.tell_ended()


def _check_mode(value: str) -> None:
    if value.upper() == "AUTOMATIC":
        raise ConfigurationError(
            "SQL has no mode AUTOMATIC: whether results have changes must be known before",
            fix=f"SET '{RUNTIME_MODE}' = 'streaming', or 'batch'",
        )


def _count(found: list[JobHandle]) -> str:
    return "1 job" if len(found) == 1 else f"{len(found)} jobs"


def _shown(job: JobHandle) -> ShownJob:
    return ShownJob(job.job_id, job.name, job.status.name)


def _shown_record(record: JobRecord) -> ShownJob:
    return ShownJob(record.job_id, record.name, record.state)


def _refuse_other_jobs(statement: s.SqlStatement) -> None:
    """Jobs that are no INSERTs would run here, and end with the client."""
    if isinstance(statement, s.ExecutePlan) or (
        isinstance(statement, d.CreateTable) and statement.query is not None
    ):
        raise UnsupportedStepError(
            "with a dispatcher, CREATE TABLE AS and EXECUTE PLAN are not supported",
            fix="CREATE TABLE, then INSERT INTO it",
        )


def _cancel_jobs_of(results: list[TableResult]) -> None:
    """End jobs that began when their statement had been ended already."""
    for client in (result.get_job_client() for result in results):
        if client is not None:
            client.cancel()


def _is_insert(result: TableResult) -> bool:
    """Whether the job writes into tables: its lines are counts, and come when it has ended."""
    return result._tableau is None


def _called_from(file: str, line: int, call: Callable[[], None]) -> None:
    """Call from a line of a script, as if it were one of Python.

    Errors and plans name the innermost line of the user's program (common/call_site.py), which is
    this one then.
    """
    code = compile("\n" * (line - 1) + "call()", file, "exec")
    exec(code, {"call": call})


@contextlib.contextmanager
def placed_errors(statement: ScriptStatement, source: str | None) -> Iterator[None]:
    """Errors of a statement in a script say where in it."""
    try:
        yield
    except HeadraceError as error:
        if source is None:
            raise
        if isinstance(error, SqlError) and error.line is not None:
            error.where = f"{source}:{error.line}, column {error.column}"
        else:
            there = f"{source}:{statement.line}"
            if error.where is None:
                error.where = there
            elif not str(error.where).startswith(f"{Path(source).name}:"):
                error.where = f"{there}: {error.where}"
        raise
