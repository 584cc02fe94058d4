"""Applies a batch of commands in Redis once, with its batch id.

In: `Staged` commands of all subtasks (writer.py).  Out: changed keys.
Next: script.py (what happens on the server, and why it happens once)
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from headrace.connectors.redis.client import RedisKeys
from headrace.connectors.redis.script import APPLY_BATCH
from headrace.connectors.redis.writer import RedisTarget, push_chunks
from headrace.errors import ConnectorError
from headrace.spi.staging import OnceCommitter

if TYPE_CHECKING:
    from headrace.spi.sink import CommitterContext
    from headrace.spi.staging import Staged

_log = logging.getLogger(__name__)


class RedisCommitter(OnceCommitter):
    """The committer of a Redis sink.

    Args:
        target: the server.
        context: whose batches these are.
    """

    def __init__(self, target: RedisTarget, context: CommitterContext) -> None:
        self._target = target
        self._client = target.client()
        self.keys = RedisKeys(target.prefix, context.job_id, context.sink_uid)
        super().__init__(self._client.where, forget=f"the key {self.keys.marker}")
        self._newest = self._client.run("read the newest batch of the sink", self._open)
        self.sweep(self._newest)

    def apply_once(self, batch_id: int, committables: list[Staged]) -> int:
        """Applies a batch, or what is left of it."""
        parts = sorted(committables, key=lambda part: part.subtask)
        what = f"apply batch {batch_id}"
        before = self._client.run(what, lambda redis: self._apply(redis, batch_id, parts))
        self._newest = batch_id
        return before

    def remove_staged(self, batch_id: int) -> None:
        self._client.run("remove staged commands", lambda redis: self._remove(redis, batch_id))

    def close(self) -> None:
        """Ends the connections of the driver."""
        self._client.close()

    def _open(self, redis: Any) -> int:
        # For people who look at the key.
        names = {"job": self.keys.job_id, "sink": self.keys.sink_uid}
        redis.hset(self.keys.marker, mapping=names)
        return self._newest_batch(redis)

    def _newest_batch(self, redis: Any) -> int:
        found = redis.hget(self.keys.marker, "batch")
        return -1 if found is None else int(found)

    def _apply(self, redis: Any, batch_id: int, parts: list[Staged]) -> int:
        newest = self._newest_batch(redis)
        if newest < self._newest:
            # It cannot be told what is missing, so nothing can be repaired here.
            _log.warning(
                "%s has forgotten batches %d to %d: it lost its memory, or its keys were deleted; "
                "see appendonly and appendfsync in redis.conf",
                *(self._client.where, newest + 1, self._newest),
            )
        arguments: list[Any] = [batch_id, self._target.commands_per_call]
        if newest < batch_id:
            for part in parts:
                arguments += [self._key_of(redis, batch_id, part), part.count]
        script = redis.register_script(APPLY_BATCH)
        status = "more"
        while status == "more":
            answer = script(keys=[self.keys.marker, self.keys.queue], args=arguments)
            status, *said = [text.decode(errors="replace") for text in answer]
            if status in _FAILURES:
                raise self._failure(status, said, batch_id)
        return newest

    def _key_of(self, redis: Any, batch_id: int, part: Staged) -> str:
        if part.place is not None:
            return part.place
        return push_chunks(redis, self.keys, batch_id, part.content or ())

    def _failure(self, status: str, said: list[str], batch_id: int) -> ConnectorError:
        message, fix = _FAILURES[status]
        return ConnectorError(
            message.format(*said, batch=batch_id),
            where=self._client.where,
            fix=fix.format(queue=self.keys.queue),
        )

    def _remove(self, redis: Any, batch_id: int) -> None:
        staged = [part.decode() for part in redis.smembers(self.keys.staged)]
        queued = {part.decode() for part in redis.lrange(self.keys.queue, 0, -1)}
        over = [p for p in staged if self.keys.batch_of(p) <= batch_id and p not in queued]
        if over:
            pipeline = redis.pipeline(transaction=False)
            pipeline.unlink(*over).srem(self.keys.staged, *over).execute()


_FAILURES = {
    "refused": (
        "batch {batch} was not applied: {0}; the command is {1}",
        "fix the function that makes the commands, or delete the key; nothing was written",
    ),
    "failed": (
        "batch {batch} is applied up to a command that failed: {0}; the command is {1}",
        "Redis cannot roll back, so the batch continues with this command when the job restarts: "
        "make it possible (by deleting the key, say), or give up the rest of the batch: DEL "
        "{queue}",
    ),
    "lost": (
        "the commands staged for batch {batch} are gone: {0} chunks were written, {1} were found",
        "has the server restarted or removed keys? The batch is repeated when the job starts again",
    ),
}
