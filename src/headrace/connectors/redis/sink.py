"""Redis as a sink, exactly once, also for commands that add up: INCRBY, RPUSH, XADD.

In: records.  Out: changed keys.  Next: connectors/redis/writer.py (staging),
connectors/redis/script.py (how a batch is applied once).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row, RowKind
from headrace.connectors.redis.client import check_url
from headrace.connectors.redis.committer import RedisCommitter
from headrace.connectors.redis.writer import RedisTarget, RedisWriter
from headrace.errors import InvalidArgumentError, TypeMismatchError
from headrace.io.server_calls import Retries, without_password
from headrace.spi.sink import CommitterContext, Sink, WriterContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Key = str | Callable[[Any], str]
    Command = tuple[Any, ...]

__all__ = ["RedisSink", "Retries"]


class RedisSink(Sink):
    """Applies records to Redis; make one with `set`, `hset`, `incrby`, `rpush`, `xadd`, `commands`.

    The commands of a batch are applied by one script on the server that also notes the batch id.
    So readers see a batch as a whole, and a job that fails and is started again from its checkpoint
    neither loses nor repeats a command. What Redis itself loses in a crash (see ``appendfsync``) is
    not written again.

    Keys are texts or functions of the record. All makers take ``key_prefix`` (how the keys of
    headrace's own begin) and ``retries`` (the patience with a server that is away).

    Needs ``pip install 'headrace[redis]'``; one server or a Sentinel's master, no cluster.

    Example:
        >>> RedisSink.incrby(
        ...     "redis://127.0.0.1:6379/0",
        ...     key=lambda click: f"clicks:{click['page']}",
        ...     amount=lambda click: 1,
        ... )
        RedisSink.incrby('redis://127.0.0.1:6379/0')

        In a program: ``clicks.sink_to(sink).uid("clicks")``.
    """

    def __init__(self, mode: str, target: RedisTarget) -> None:
        self._mode = mode
        self._target = target

    @staticmethod
    def set(
        url: str,
        key: Key,
        value: Callable[[Any], Any],
        *,
        expire_s: int | None = None,
        key_prefix: str = "headrace",
        retries: Retries | None = None,
    ) -> RedisSink:
        """A sink that keeps the newest value of each key. Rows of kind DELETE delete the key.

        Args:
            url: ``redis://user:password@host:6379/0``, ``rediss://...`` or ``unix://...``.
            key: the key of a record.
            value: the value of a record: text, bytes or a number.
            expire_s: after how many seconds without a change Redis forgets the key.
            key_prefix: see the class.
            retries: see the class.
        """
        ending = () if expire_s is None else ("EX", expire_s)
        make = _Keyed(key, lambda name, record: [("SET", name, value(record), *ending)])
        return _sink("set", url, _Changelog(make), key_prefix, retries)

    @staticmethod
    def hset(
        url: str,
        key: Key,
        mapping: Callable[[Any], Mapping[str, Any]],
        *,
        key_prefix: str = "headrace",
        retries: Retries | None = None,
    ) -> RedisSink:
        """A sink that sets fields of a hash. Rows of kind DELETE delete the key.

        Args:
            url: see `set`.
            key: the key of a record.
            mapping: the fields of a record, from name to value.
            key_prefix: see the class.
            retries: see the class.
        """

        def commands(name: str, record: Any) -> list[Command]:
            fields = [part for item in mapping(record).items() for part in item]
            return [("HSET", name, *fields)] if fields else []

        return _sink("hset", url, _Changelog(_Keyed(key, commands)), key_prefix, retries)

    @staticmethod
    def incrby(
        url: str,
        key: Key,
        amount: Callable[[Any], int],
        *,
        key_prefix: str = "headrace",
        retries: Retries | None = None,
    ) -> RedisSink:
        """A sink that adds to counters.

        Args:
            url: see `set`.
            key: the counter of a record.
            amount: what is added, a whole number.
            key_prefix: see the class.
            retries: see the class.
        """
        make = _Keyed(key, lambda name, record: [("INCRBY", name, amount(record))])
        return _sink("incrby", url, _OnlyInserts(make, "incrby"), key_prefix, retries)

    @staticmethod
    def rpush(
        url: str,
        key: Key,
        value: Callable[[Any], Any],
        *,
        key_prefix: str = "headrace",
        retries: Retries | None = None,
    ) -> RedisSink:
        """A sink that appends to lists, subtask by subtask in the order of the records.

        Args:
            url: see `set`.
            key: the list of a record.
            value: what is appended.
            key_prefix: see the class.
            retries: see the class.
        """
        make = _Keyed(key, lambda name, record: [("RPUSH", name, value(record))])
        return _sink("rpush", url, _OnlyInserts(make, "rpush"), key_prefix, retries)

    @staticmethod
    def xadd(
        url: str,
        key: Key,
        fields: Callable[[Any], Mapping[str, Any]],
        *,
        maxlen: int | None = None,
        key_prefix: str = "headrace",
        retries: Retries | None = None,
    ) -> RedisSink:
        """A sink that adds entries to streams; Redis gives them their ids.

        Args:
            url: see `set`.
            key: the stream of a record.
            fields: the fields of the entry, from name to value.
            maxlen: about how many entries the stream keeps; all by default.
            key_prefix: see the class.
            retries: see the class.
        """
        limit = () if maxlen is None else ("MAXLEN", "~", maxlen)

        def commands(name: str, record: Any) -> list[Command]:
            parts = [part for item in fields(record).items() for part in item]
            return [("XADD", name, *limit, "*", *parts)]

        make = _OnlyInserts(_Keyed(key, commands), "xadd")
        return _sink("xadd", url, make, key_prefix, retries)

    @staticmethod
    def commands(
        url: str,
        function: Callable[[Any], Iterable[Command]],
        *,
        key_prefix: str = "headrace",
        retries: Retries | None = None,
    ) -> RedisSink:
        """A sink for any commands.

        Args:
            url: see `set`.
            function: from a record to its commands, such as ``[("ZINCRBY", "top", 1, page)]``. It
                sees rows of every kind.
            key_prefix: see the class.
            retries: see the class.
        """
        if not callable(function):
            raise InvalidArgumentError(
                f"{function!r} ({type(function).__name__}) is not a function",
                where="RedisSink.commands",
                fix='pass a function: lambda record: [("INCRBY", "clicks", 1)]',
            )
        return _sink("commands", url, function, key_prefix, retries)

    def create_writer(self, context: WriterContext) -> RedisWriter:
        """A writer that stages the commands of one subtask and batch."""
        return RedisWriter(self._target, context)

    def create_committer(self, context: CommitterContext) -> RedisCommitter:
        """The committer; finds out whether the server is there before the job runs."""
        return RedisCommitter(self._target, context)

    def __repr__(self) -> str:
        return f"RedisSink.{self._mode}({without_password(self._target.url)!r})"


def _sink(
    mode: str,
    url: str,
    commands: Callable[[Any], Iterable[Command]],
    key_prefix: str,
    retries: Retries | None,
) -> RedisSink:
    check_url(url, f"RedisSink.{mode}")
    target = RedisTarget(url, commands, key_prefix, retries=retries or Retries())
    return RedisSink(mode, target)


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Commands for the key of a record."""

    key: Key
    commands: Callable[[str, Any], list[Command]]

    def __call__(self, record: Any) -> list[Command]:
        return self.commands(self.name(record), record)

    def name(self, record: Any) -> str:
        return self.key if isinstance(self.key, str) else self.key(record)


@dataclass(frozen=True, slots=True)
class _Changelog:
    """Follows the kinds of rows: what is deleted in the stream is deleted in Redis."""

    make: _Keyed

    def __call__(self, record: Any) -> list[Command]:
        if isinstance(record, Row):
            kind = record.get_row_kind()
            if kind is RowKind.UPDATE_BEFORE:
                return []
            if kind is RowKind.DELETE:
                return [("DEL", self.make.name(record))]
        return self.make(record)


@dataclass(frozen=True, slots=True)
class _OnlyInserts:
    """Refuses rows that take something back: what was added cannot be found again."""

    make: _Keyed
    mode: str

    def __call__(self, record: Any) -> list[Command]:
        if isinstance(record, Row) and record.get_row_kind() is not RowKind.INSERT:
            raise TypeMismatchError(
                f"the row {record!r} is of kind {record.get_row_kind()}, but {self.mode} only adds",
                where=f"RedisSink.{self.mode}",
                fix="filter the kinds first, or say what they do with RedisSink.commands",
            )
        return self.make(record)
