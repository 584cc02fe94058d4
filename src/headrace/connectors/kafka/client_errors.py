"""What errors of Kafka's clients mean: whether they pass, and in our words.

In: errors of librdkafka.  Out: `ConnectorError`s in three parts.  `Refusals` tells a broker that is
away, which is waited for, from one that does not let a client in, which is told at once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from headrace.connectors.kafka.client import PATIENCE_OPTION, admin_library, kafka_library
from headrace.errors import ConnectorError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from headrace.connectors.kafka.client import ClientSettings

_AGAIN = "the batch is repeated when the job starts again"
_FIX = f"check the broker's log; {_AGAIN}"
AWAY = f"check that the brokers run and can be reached from driver and workers; {_AGAIN}"
# How to go on where the offsets of a checkpoint mean nothing any more, and what that costs.
NEW_BEGINNING = (
    "give another execution.checkpointing.dir, with which the job starts with empty state (the old "
    "one stays)"
)
LOG_IN = (
    "check security.protocol, sasl.mechanisms, sasl.username and sasl.password, and that "
    "ssl.ca.location has the certificate of the brokers' authority"
)
_UNKNOWN_TOPIC = "create the topic, or correct its name: names are case sensitive"
DENIED = (
    "give the user the right: to read, READ and DESCRIBE on the topic and READ on the group; to "
    "write, WRITE on the topic and WRITE and DESCRIBE on the prefix of transactional ids"
)
_TIMED_OUT = (
    "are the brokers away, or is the batch longer than transaction.timeout.ms? Raise it (brokers "
    "allow transaction.max.timeout.ms, 15 minutes by default) or make batches smaller"
)
_FIXES = {
    "_AUTHENTICATION": LOG_IN,
    "SASL_AUTHENTICATION_FAILED": LOG_IN,
    "_SSL": LOG_IN,
    "_UNKNOWN_TOPIC": _UNKNOWN_TOPIC,
    "UNKNOWN_TOPIC_OR_PART": _UNKNOWN_TOPIC,
    "_UNKNOWN_PARTITION": "let the partitioner return one of the topic's partitions",
    "MSG_SIZE_TOO_LARGE": "raise message.max.bytes of the sink (set_property) and of the topic "
    "(max.message.bytes), or write smaller messages",
    "_MSG_TIMED_OUT": _TIMED_OUT,
    "_FENCED": "another run of the job has taken over; if it should not have, stop one of the two",
    "INVALID_TRANSACTION_TIMEOUT": "lower transaction.timeout.ms (set_property) to what brokers "
    "allow: their transaction.max.timeout.ms, 15 minutes by default",
    "CLUSTER_AUTHORIZATION_FAILED": DENIED,
    "GROUP_AUTHORIZATION_FAILED": DENIED,
    "TOPIC_AUTHORIZATION_FAILED": DENIED,
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": DENIED,
}
_PASSING = frozenset(
    {
        *("_ALL_BROKERS_DOWN", "_RESOLVE", "_TIMED_OUT", "_TRANSPORT", "_WAIT_COORD"),
        *("BROKER_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"),
        *("FENCED_LEADER_EPOCH", "KAFKA_STORAGE_ERROR", "LEADER_NOT_AVAILABLE"),
        *("NETWORK_EXCEPTION", "NOT_COORDINATOR", "NOT_LEADER_FOR_PARTITION"),
        *("OFFSET_NOT_AVAILABLE", "REPLICA_NOT_AVAILABLE", "REQUEST_TIMED_OUT"),
        "UNKNOWN_LEADER_EPOCH",
    }
)
# Which tell that there was no answer, and not why.
_WITHOUT_REASON = ("_ALL_BROKERS_DOWN", "_TIMED_OUT")
# A broker that is just starting or stopping may break off a handshake; not again and again.
_REFUSALS_THAT_COUNT = 3
_LOOKED_AT_EVERY_S = 0.2


def passes(error: Any) -> bool:
    """Whether an error of the client may be gone a moment later; takes a KafkaError."""
    return bool(error.retriable()) or error.name() in _PASSING


def explained(
    error: Any, what: str, settings: ClientSettings, refusals: Refusals | None = None
) -> ConnectorError:
    """An error of the client in our words.

    Args:
        error: a KafkaError, or an exception with one in it.
        what: the call in words, after "cannot".
        settings: of the client.
        refusals: what the client told beside the call: a call that timed out does not say why.
    """
    reason = error.args[0] if isinstance(error, Exception) and error.args else error
    if not hasattr(reason, "name"):
        return ConnectorError(f"cannot {what}: {error}", where=settings.where, fix=_FIX)
    fix, text = _FIXES.get(reason.name(), _FIX), f"cannot {what}: {reason.str()} ({reason.name()})"
    if passes(reason):
        fix = f"{AWAY} (they were waited for {settings.patience_s:g} s: {PATIENCE_OPTION})"
        if refusals is not None and refusals.last_text and refusals.last_text not in text:
            text = f"{text}; {refusals.last_text}"
    return ConnectorError(text, where=settings.where, fix=fix)


def undelivered(failures: list[tuple[str, int, Any]], settings: ClientSettings) -> ConnectorError:
    """Messages that Kafka did not take: how many, the first one's topic, partition and reason."""
    topic, partition, error = failures[0]
    more = "" if len(failures) == 1 else f", and {len(failures) - 1:,} more messages"
    place = topic if partition < 0 else f"{topic}, partition {partition}"
    return ConnectorError(
        f"a message to topic {place} was not delivered: {error.str()} ({error.name()}){more}",
        where=settings.where,
        fix=_FIXES.get(error.name(), AWAY),
    )


class Refusals:
    """Whether brokers do not let a client in: a wrong password, a certificate it does not trust.

    librdkafka tells it beside its calls (``error_cb``) and goes on trying, and so do the calls.

    Attributes:
        last_text: what was told last and says why there is no answer; None since there was one.
    """

    def __init__(self) -> None:
        self._last: Any = None
        self._count = 0
        self.last_text: str | None = None

    def note(self, error: Any) -> None:
        """Takes what librdkafka tells."""
        if error.name() not in _WITHOUT_REASON:
            self.last_text = error.str()
        if error.name() in ("_AUTHENTICATION", "_SSL"):
            self._last = error
            self._count += 1

    def forget(self) -> None:
        """A broker has answered."""
        self._count = 0
        self.last_text = None

    def check(self) -> None:
        """Raises a KafkaException if trying again is of no use."""
        if self._count >= _REFUSALS_THAT_COUNT:
            raise kafka_library().KafkaException(self._last)

    def answer(self, future: Future[Any], client: Any) -> Any:
        """What a call comes to; raises when the brokers do not let the client in."""
        while True:
            try:
                found = future.result(timeout=_LOOKED_AT_EVERY_S)
            except TimeoutError:
                client.poll(0)
                self.check()
            else:
                self.forget()
                return found


def check_login(settings: ClientSettings, within_s: float) -> None:
    """Tells why brokers do not let clients in, if it is that; kafka-python does not say it.

    Args:
        settings: of the client.
        within_s: how long brokers get to say it.

    Raises:
        ConnectorError: they refuse.
    """
    library, refusals, others = kafka_library(), Refusals(), set()

    def note(error: Any) -> None:
        refusals.note(error)
        others.add(error.name())

    admin = admin_library().AdminClient(settings.admin(error_cb=note))
    deadline = time.monotonic() + within_s
    asked = admin.describe_cluster(request_timeout=within_s)
    try:
        # a broker that is away refuses nothing
        while not (asked.done() or others & {"_TRANSPORT", "_RESOLVE"}) and (
            time.monotonic() < deadline
        ):
            admin.poll(_LOOKED_AT_EVERY_S)
            refusals.check()
    except library.KafkaException as error:
        raise explained(error, "log in", settings) from None
