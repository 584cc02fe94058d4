"""Stages the commands of one subtask and batch for Redis.

In: records.  Out: a `Staged` with chunks of packed commands when they are few, else the key of a
list in Redis that holds them.  Next: committer.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headrace.connectors.redis.client import STAGED_S, RedisClient, RedisKeys
from headrace.connectors.redis.commands import pack_command
from headrace.io.server_calls import Retries
from headrace.spi.staging import StagingWriter

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


class RedisWriter(StagingWriter):
    """The writer of one subtask and batch; talks to the server when the batch ends, if at all."""

    def __init__(self, target: RedisTarget, context: WriterContext) -> None:
        super().__init__(context)
        self._target = target
        self._client = target.client()
        self._keys = RedisKeys(target.prefix, context.job_id, context.sink_uid)
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

    def end_batch(self) -> int:
        self._end_chunk()
        return len(self._lengths)

    def read_content(self) -> tuple[bytes, ...]:
        return tuple(self._chunks())

    def stage_content(self, count: int) -> str:
        keys, batch_id = self._keys, self.context.batch_id
        return self._client.run(
            f"stage {count} chunks of commands",
            lambda redis: push_chunks(redis, keys, batch_id, self._chunks()),
        )

    def _end_chunk(self) -> None:
        if self._chunk:
            self.spool.write(b"".join(self._chunk))
            self._lengths.append(self._chunk_bytes)
            self._chunk, self._chunk_bytes = [], 0

    def _chunks(self) -> Iterable[bytes]:
        self.spool.seek(0)
        return (self.spool.read(length) for length in self._lengths)


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
