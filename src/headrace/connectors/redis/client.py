"""Connections to Redis, its errors in our words, and the names of headrace's own keys.

In: a URL and a call.  Out: the answer, after retries.  Next: writer.py, committer.py
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.errors import ConnectorError, InvalidArgumentError
from headrace.io.server_calls import (
    Retries,
    ServerClient,
    client_library,
    sink_hash,
    without_password,
)

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# What a worker staged and nobody asked for goes away by itself after a week.
STAGED_S = 7 * 86_400
# A script may run for a while when a batch is large.
_ANSWER_S = 60.0
_CONNECT_S = 10.0

_clients: dict[tuple[int, str], Any] = {}


def redis_module() -> Any:
    """The client library; imported late, because only users of this sink need it."""
    return client_library("redis", extra="redis")


@dataclass(frozen=True, slots=True)
class RedisKeys:
    """The keys that headrace keeps for one sink of one job.

    All have one hash tag, ``{...}``, so that a cluster would keep them together.
    """

    prefix: str
    job_id: str
    sink_uid: str

    @property
    def base(self) -> str:
        return f"{self.prefix}:{{{sink_hash(self.job_id, self.sink_uid)}}}"

    @property
    def marker(self) -> str:
        """A hash: the newest batch, and where in it the next command is."""
        return f"{self.base}:marker"

    @property
    def queue(self) -> str:
        """A list: the parts of the newest batch that are not through."""
        return f"{self.base}:queue"

    @property
    def staged(self) -> str:
        """A set: the parts that were staged."""
        return f"{self.base}:staged"

    def new_part(self, batch_id: int) -> str:
        """A list: the commands of one attempt of one subtask and batch; never the same key."""
        return f"{self.base}:{batch_id}:{uuid.uuid4().hex}"

    def batch_of(self, part: str) -> int:
        """The batch of a part's key."""
        return int(part.removeprefix(f"{self.base}:").partition(":")[0])


class RedisClient(ServerClient[Any]):
    """One Redis server as a sink sees it; a call gets a ``redis.Redis``.

    Args:
        url: such as ``redis://user:password@host:6379/0``.
        retries: the patience with a server that is away.
    """

    def __init__(self, url: str, retries: Retries) -> None:
        self._redis = redis_module()
        self._url = url
        where = f"Redis at {without_password(url)}"
        super().__init__(where, retries, self._redis.RedisError, longest_try_s=_CONNECT_S)

    def close(self) -> None:
        """Ends the connections of this process."""
        client = _clients.pop((os.getpid(), self._url), None)
        if client is not None:
            client.close()

    def _once(self, call: Callable[[Any], T]) -> T:
        return call(self._connected())

    def _connected(self) -> Any:
        key = os.getpid(), self._url
        if key not in _clients:
            # A login waits as long as an answer, and that is long for a server that says nothing.
            with self._client(answer_s=_CONNECT_S) as first:
                first.ping()
            _clients[key] = self._client(answer_s=_ANSWER_S)
        return _clients[key]

    def _client(self, *, answer_s: float) -> Any:
        backoff = client_library("redis.backoff", extra="redis")
        retry = client_library("redis.retry", extra="redis")
        return self._redis.Redis.from_url(
            self._url,
            # A client that repeats a push by itself would push twice; `run` repeats it all.
            retry=retry.Retry(backoff.NoBackoff(), 0),
            socket_connect_timeout=_CONNECT_S,
            socket_timeout=answer_s,
        )

    def _passes(self, error: Exception) -> bool:
        redis = self._redis.exceptions
        if isinstance(error, redis.AuthenticationError | redis.AuthorizationError):
            return False
        return isinstance(
            error,
            redis.ConnectionError | redis.TimeoutError | redis.ReadOnlyError | redis.TryAgainError,
        )

    def _explained(self, error: Exception, what: str) -> ConnectorError:
        redis = self._redis.exceptions
        if isinstance(error, redis.AuthenticationError) or "WRONGPASS" in str(error):
            fix = "check user and password: redis://user:password@host:6379/0"
        elif isinstance(error, redis.NoPermissionError):
            fix = "let the user run EVALSHA, SCRIPT and the batch's commands on these keys (ACL)"
        elif isinstance(error, redis.OutOfMemoryError):
            fix = "raise maxmemory, or choose a policy that removes keys"
        elif "CROSSSLOT" in str(error) or "non local key" in str(error):
            fix = "a batch is applied as one, which a Redis cluster cannot do; use a single server"
        else:
            fix = (
                "check that the server runs and can be reached from driver and workers; the "
                "batch is repeated when the job restarts"
            )
        return ConnectorError(f"cannot {what}: {error}", where=self.where, fix=fix)


def check_url(url: Any, where: str) -> None:
    """Refuses what is not a Redis URL."""
    try:
        redis_module().Redis.from_url(url).close()
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidArgumentError(
            f"{without_password(str(url))!r} is not a Redis URL: {error}",
            where=where,
            fix="use redis://user:password@host:6379/0, rediss:// for TLS or unix:///path",
        ) from None
