"""PyFlink's JDBC sink: a statement of SQL for every record, run in PostgreSQL, exactly once.

In: rows.  Out: what the statement does.  Next: connectors/postgres/changes.py (`RunStatement`).
For tables of some size use connectors/postgres/sink.py: its rows do not pass through the driver.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from headrace.common.types import Row
from headrace.connectors.driver.record_chunks import ShippingWriter
from headrace.connectors.postgres.changes import RunStatement
from headrace.connectors.postgres.client import check_conninfo
from headrace.connectors.postgres.committer import PostgresCommitter
from headrace.connectors.postgres.writer import PostgresTarget
from headrace.errors import InvalidArgumentError, TypeMismatchError, UnsupportedStepError
from headrace.io.server_calls import Retries, without_password
from headrace.spi.sink import CommitterContext, Sink, WriterContext

if TYPE_CHECKING:
    from headrace.common.typeinfo import RowTypeInfo

__all__ = ["JdbcConnectionOptions", "JdbcExecutionOptions", "JdbcSink"]


class JdbcSink(Sink):
    """Runs a statement for every record; make one with `sink`.

    Example:
        >>> from headrace.common.typeinfo import Types
        >>> sink = JdbcSink.sink(
        ...     "INSERT INTO words (word, n) VALUES (?, ?)",
        ...     Types.ROW([Types.STRING(), Types.LONG()]),
        ...     JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
        ...     .with_url("jdbc:postgresql://127.0.0.1:5432/shop")
        ...     .with_user_name("me")
        ...     .with_password("secret")
        ...     .build(),
        ... )

        In a program: ``words.add_sink(sink)`` or ``words.sink_to(sink)``.

    Coming from Flink: exactly once instead of at least once, because the statements of a batch and
    its batch id are one transaction. The database is PostgreSQL.
    """

    def __init__(self, target: PostgresTarget, statement: str, width: int, batch_size: int) -> None:
        self._target = target
        self._statement = statement
        self._width = width
        self._batch_size = batch_size

    @staticmethod
    def sink(
        sql: str,
        type_info: RowTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """A sink for a statement.

        Args:
            sql: an INSERT, UPDATE or DELETE with a ``?`` for each field.
            type_info: the type of the records.
            jdbc_connection_options: the database.
            jdbc_execution_options: how many records are sent at once, and how often is tried.
        """
        statement, placeholders = _with_percents(sql)
        width = len(type_info.get_field_types())
        if placeholders != width:
            raise InvalidArgumentError(
                f"the statement has {placeholders} '?', but the type has {width} fields: {sql}",
                where="JdbcSink.sink",
                fix="write one '?' for each field, and '??' for an operator with a question mark",
            )
        options = jdbc_execution_options or JdbcExecutionOptions.defaults()
        conninfo = jdbc_connection_options._conninfo()
        check_conninfo(conninfo, "JdbcSink.sink")
        retries = Retries(attempts=options.get_max_retries() + 1)
        target = PostgresTarget(conninfo, f"of {sql.strip()[:60]!r}", retries=retries)
        return JdbcSink(target, statement, width, options.get_batch_size())

    def create_writer(self, context: WriterContext) -> ShippingWriter:
        """A writer that sends the records to the driver."""
        return _RowWriter(context, self._width)

    def create_committer(self, context: CommitterContext) -> PostgresCommitter:
        """The committer, which runs the statements of a batch in one transaction."""
        apply = RunStatement(self._statement, self._batch_size)
        return PostgresCommitter(self._target, context, apply)


class _RowWriter(ShippingWriter):
    """Ships the fields of rows, and nothing else of them."""

    def __init__(self, context: WriterContext, width: int) -> None:
        super().__init__(context)
        self._width = width

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        super().write([self._fields(value) for value in values], None)

    def _fields(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, Row | tuple | list) or len(value) != self._width:
            raise TypeMismatchError(
                f"the record {value!r} ({type(value).__name__}) is not a row of {self._width} "
                "fields",
                where="JDBC sink",
                fix="map the records to Row(...) with the fields of type_info",
            )
        return tuple(value)


class JdbcConnectionOptions:
    """Where the database is."""

    def __init__(
        self,
        url: str,
        driver_name: str | None = None,
        user_name: str | None = None,
        password: str | None = None,
    ) -> None:
        self._url = url
        self._driver_name = driver_name
        self._user_name = user_name
        self._password = password

    def get_db_url(self) -> str:
        """The URL, as it was given."""
        return self._url

    def get_driver_name(self) -> str | None:
        """The name of a Java class, which headrace does not need."""
        return self._driver_name

    def get_user_name(self) -> str | None:
        """The user."""
        return self._user_name

    def get_password(self) -> str | None:
        """The password."""
        return self._password

    def _conninfo(self) -> str:
        """The same for PostgreSQL's own client."""
        url = urlsplit(self._url.removeprefix("jdbc:"))
        settings = dict(parse_qsl(url.query))
        user = self._user_name or settings.pop("user", None)
        password = self._password or settings.pop("password", None)
        settings = {_SETTINGS[k]: v for k, v in settings.items() if k in _SETTINGS}
        login = "" if user is None else quote(user, safe="")
        if password is not None:
            login += f":{quote(password, safe='')}"
        place = f"{login}@{url.netloc}" if login else url.netloc
        query = f"?{urlencode(settings)}" if settings else ""
        return f"postgresql://{place}{url.path}{query}"

    class JdbcConnectionOptionsBuilder:
        """Collects the settings of `JdbcConnectionOptions`."""

        def __init__(self) -> None:
            self._url: str | None = None
            self._driver_name: str | None = None
            self._user_name: str | None = None
            self._password: str | None = None

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The database: ``jdbc:postgresql://host:5432/name``."""
            self._url = url
            return self

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Accepted and kept; there is no Java driver to load."""
            self._driver_name = driver_name
            return self

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The user."""
            self._user_name = user_name
            return self

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The password."""
            self._password = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """The options.

            Raises:
                InvalidArgumentError: there is no URL.
                UnsupportedStepError: the URL is not one of PostgreSQL.
            """
            if not self._url:
                raise InvalidArgumentError(
                    "the connection has no URL",
                    where="JdbcConnectionOptionsBuilder.build",
                    fix="call with_url('jdbc:postgresql://host:5432/name')",
                )
            if not self._url.startswith("jdbc:postgresql://"):
                raise UnsupportedStepError(
                    f"{without_password(self._url)!r} is not a JDBC URL for PostgreSQL",
                    where="JdbcConnectionOptionsBuilder.build",
                    fix="use jdbc:postgresql://host:5432/name; for other databases write a Sink "
                    "(its docstring has an example), or use to_dataframe and Spark's JDBC writer",
                )
            return JdbcConnectionOptions(
                self._url, self._driver_name, self._user_name, self._password
            )


class JdbcExecutionOptions:
    """How statements are sent."""

    def __init__(
        self, batch_interval_ms: int = 0, batch_size: int = 5000, max_retries: int = 3
    ) -> None:
        self._batch_interval_ms = batch_interval_ms
        self._batch_size = batch_size
        self._max_retries = max_retries

    def get_batch_interval_ms(self) -> int:
        """Kept, without effect: all statements of a micro-batch are run when it ends."""
        return self._batch_interval_ms

    def get_batch_size(self) -> int:
        """How many records are sent at once."""
        return self._batch_size

    def get_max_retries(self) -> int:
        """How often a batch is tried again when the server is away."""
        return self._max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """5,000 records at once, 3 retries."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Starts with the defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Collects the settings of `JdbcExecutionOptions`."""

        def __init__(self) -> None:
            self._options = JdbcExecutionOptions()

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """How many records are sent at once; at least 1."""
            self._options._batch_size = _at_least(1, size, "with_batch_size")
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Accepted and kept; see `JdbcExecutionOptions.get_batch_interval_ms`."""
            self._options._batch_interval_ms = interval_ms
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """How often a batch is tried again; at least 0."""
            self._options._max_retries = _at_least(0, max_retries, "with_max_retries")
            return self

        def build(self) -> JdbcExecutionOptions:
            """The options."""
            options = self._options
            return JdbcExecutionOptions(
                options._batch_interval_ms, options._batch_size, options._max_retries
            )


# What the Java driver calls them, and what PostgreSQL's own client does.
_SETTINGS = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "options": "options",
}

# What may hold a question mark that is none, then the marks.
_SQL_PART = re.compile(
    r"""'(?:[^']|'')*' | "(?:[^"]|"")*" | --[^\n]* | /\*.*?\*/ | \$(\w*)\$.*?\$\1\$
    | \?\? | \? | %""",
    re.DOTALL | re.VERBOSE,
)


def _with_percents(sql: str) -> tuple[str, int]:
    """The statement with the placeholders that psycopg knows, and their number."""
    marks = 0

    def changed(match: re.Match[str]) -> str:
        nonlocal marks
        if match[0] == "?":
            marks += 1
            return "%s"
        return "?" if match[0] == "??" else match[0].replace("%", "%%")

    return _SQL_PART.sub(changed, sql), marks


def _at_least(least: int, value: int, method: str) -> int:
    if value < least:
        raise InvalidArgumentError(
            f"{value} is too small", where=method, fix=f"use {least} or more"
        )
    return value
