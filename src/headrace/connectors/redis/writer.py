"""Stages the commands of one subtask and batch for Redis.

In: records.  Out: a `StagedCommands`: packed commands when they are few, else the key of a list in
Redis that holds them.  Next: committer.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from headrace.connectors.redis.client import STAGED_S, RedisClient, RedisKeys
from headrace.connectors.redis.commands import pack_command
from headrace.io.server_calls import INLINE_BYTES, Retries, new_spool
from headrace.spi.sink import SinkWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.spi.sink import WriterContext

# Few enough that the script holds little at once, many enough that a list is short.
CHUNK_BYTES = 32 << 10
_PUSH_CHUNKS = 64


@dataclass(frozen=True, slots=True)
class RedisTarget:
    """Where and how a Redis sink writes; travels to the workers.

    Attributes:
        url: the server.
        commands: from a record to its commands.
        prefix: how the keys of headrace's own begin.
        commands_per_call: how many commands one call of the script may run.
        retries: the patience with the server.
    """

    url: str
    commands: Callable[[Any], Iterable[Any]]
    prefix: str = "headrace"
    commands_per_call: int = 100_000
    retries: Retries = field(default_factory=Retries)

    def client(self) -> RedisClient:
        """A way to the server."""
        return RedisClient(self.url, self.retries)


@dataclass(frozen=True, slots=True)
class StagedCommands:
    """What one subtask wrote in one batch.

    Attributes:
        subtask: who wrote it.
        chunks: how many chunks of commands there are.
        content: the chunks, when they are few.
        key: the list in Redis that holds them, when they are many.
    """

    subtask: int
    chunks: int
    content: tuple[bytes, ...] | None
    key: str | None


class RedisWriter(SinkWriter):
    """The writer of one subtask and batch; talks to the server when the batch ends, if at all."""

    def __init__(self, target: RedisTarget, context: WriterContext) -> None:
        self._target = target
        self._client = target.client()
        self._keys = RedisKeys(target.prefix, context.job_id, context.sink_uid)
        self._context = context
        self._spool: IO[bytes] = new_spool()
        self._lengths: list[int] = []
        self._chunk: list[bytes] = []
        self._chunk_bytes = 0

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        to_commands, where = self._target.commands, self._client.where
        for value in values:
            for command in to_commands(value):
                packed = pack_command(command, value, where)
                self._chunk.append(packed)
                self._chunk_bytes += len(packed)
                if self._chunk_bytes >= CHUNK_BYTES:
                    self._end_chunk()

    def prepare_commit(self) -> list[Any]:
        self._end_chunk()
        if not self._lengths:
            return []
        key = content = None
        if self._spool.tell() <= INLINE_BYTES:
            content = tuple(self._chunks())
        else:
            what = f"stage {len(self._lengths)} chunks of commands"
            key = self._client.run(what, self._push)
        self._spool.close()
        return [StagedCommands(self._context.subtask_index, len(self._lengths), content, key)]

    def abort(self) -> None:
        self._spool.close()

    def _push(self, redis: Any) -> str:
        return push_chunks(redis, self._keys, self._context.batch_id, self._chunks())

    def _end_chunk(self) -> None:
        if self._chunk:
            self._spool.write(b"".join(self._chunk))
            self._lengths.append(self._chunk_bytes)
            self._chunk, self._chunk_bytes = [], 0

    def _chunks(self) -> Iterable[bytes]:
        self._spool.seek(0)
        return (self._spool.read(length) for length in self._lengths)


def push_chunks(redis: Any, keys: RedisKeys, batch_id: int, chunks: Iterable[bytes]) -> str:
    """Makes the list of a part and returns its key.

    Every try has a key of its own: a push whose answer was lost may still arrive, and must not
    lengthen the list that the next try makes.
    """
    part = keys.new_part(batch_id)
    pipeline = redis.pipeline(transaction=False)
    pipeline.sadd(keys.staged, part)
    waiting = 0
    for chunk in chunks:
        pipeline.rpush(part, chunk)
        waiting += 1
        if waiting == _PUSH_CHUNKS:
            pipeline.expire(part, STAGED_S).execute()
            waiting = 0
    pipeline.expire(part, STAGED_S).execute()
    return part
