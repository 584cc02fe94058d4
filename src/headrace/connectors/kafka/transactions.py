"""What to do with a transaction of Kafka's: the rules of the two-phase commit, without any I/O.

In: what workers prepared, what was decided before, what the broker says.  Out: a `Decision`, and
the next step for each of its transactions.  committer.py and producers.py carry the steps out.

    worker   begin ─▶ produce ─▶ flush: the transaction stays open ─▶ `Prepared`
    driver   describe ─▶ decided (stored) ─▶ end each transaction ─▶ done (stored)
                            │
                            └─ one aborted by the broker, none committed ─▶ void: batch repeated

Why it is safe: docs/decisions/0018-kafka-two-phase-commit.md
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from headrace.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class SinkTransactions:
    """The transactional ids of one sink of one job.

    Every producer has an id of its own, ``<prefix>-<sink>-<job>-<random>``: two attempts of a
    subtask never disturb each other, and only one of them is decided on.

    Attributes:
        prefix: the user's; no other application on the cluster has it.
        job_id: see `WriterContext`.
        sink_uid: see `WriterContext`.
    """

    prefix: str
    job_id: str
    sink_uid: str

    @property
    def of_sink(self) -> str:
        """How the ids of this sink begin, also those of earlier jobs of the same program."""
        return f"{self.prefix}-{short_hash(self.sink_uid)}-"

    @property
    def of_job(self) -> str:
        """How the ids of this job's sink begin."""
        return f"{self.of_sink}{short_hash(self.job_id)}-"


def short_hash(text: str) -> str:
    """A text of any length and any characters as a part of a name."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A committable: one subtask's records of a batch are in an open transaction.

    Attributes:
        transactional_id: of the transaction.
        subtask: who wrote it.
        records: how many messages there are in it.
    """

    transactional_id: str
    subtask: int
    records: int


class BrokerState(StrEnum):
    """The states of a transaction, by the names of the protocol."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"


_COMMITTED = (BrokerState.PREPARE_COMMIT, BrokerState.COMPLETE_COMMIT)
_ABORTED = (
    BrokerState.PREPARE_ABORT,
    BrokerState.COMPLETE_ABORT,
    BrokerState.PREPARE_EPOCH_FENCE,
)


@dataclass(frozen=True, slots=True)
class Found:
    """What the broker says of a transactional id.

    Attributes:
        state: of its newest transaction.
        producer_id: the number that the broker gave the producer.
        producer_epoch: grows when a producer is fenced, as when its transaction times out.
        started_ms: when its newest transaction began, by the broker's clock.
        coordinator: the broker to ask.
    """

    state: BrokerState
    producer_id: int
    producer_epoch: int
    started_ms: int
    coordinator: int = 0


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transaction that was decided on; see `Prepared` and `Found` for the parts."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    started_ms: int
    subtask: int
    records: int


Stage = Literal["decided", "done", "void"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to become of a batch: once stored as decided, its transactions are committed.

    Attributes:
        batch_id: the batch.
        stage: decided; done when all transactions are committed; void when the broker had aborted
            them before the first was committed, so that the batch counts as never decided.
        transactions: those of the batch.
    """

    batch_id: int
    stage: Stage
    transactions: tuple[Transaction, ...] = ()

    @property
    def newest_batch(self) -> int:
        """The newest batch that is written, or will be."""
        return self.batch_id - 1 if self.stage == "void" else self.batch_id

    def became(self, stage: Stage) -> Decision:
        """The same in another stage."""
        return replace(self, stage=stage)

    def to_json(self) -> bytes:
        """The stored form."""
        return json.dumps({"format": FORMAT_VERSION, **asdict(self)}, indent=1).encode()

    @classmethod
    def from_json(cls, content: bytes, where: str) -> Decision:
        """Reads the stored form.

        Raises:
            StateError: it is none, or one of a later version of headrace.
        """
        try:
            stored = json.loads(content)
            if stored["format"] != FORMAT_VERSION:
                raise StateError(
                    f"the Kafka sink's decision has format {stored['format']}, this version of "
                    f"headrace reads format {FORMAT_VERSION}",
                    where=where,
                    fix="run the version of headrace that wrote it, or a later one",
                )
            transactions = tuple(Transaction(**part) for part in stored["transactions"])
            if stored["stage"] not in ("decided", "done", "void"):
                raise ValueError(f"unknown stage {stored['stage']!r}")
            return cls(int(stored["batch_id"]), stored["stage"], transactions)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(
                f"the Kafka sink's decision cannot be read: {error}",
                where=where,
                fix="restore the file from a backup; without it headrace cannot know whether the "
                "newest batch was written",
            ) from error


def decide(
    batch_id: int, prepared: Iterable[Prepared], found: Mapping[str, Found | None]
) -> Decision | list[Prepared]:
    """The decision to commit a batch; or those transactions that are not open any more."""
    ordered = sorted(prepared, key=lambda part: part.subtask)
    gone, transactions = [], []
    for part in ordered:
        now = found.get(part.transactional_id)
        if now is None or now.state is not BrokerState.ONGOING:
            gone.append(part)
            continue
        transactions.append(
            Transaction(
                part.transactional_id,
                now.producer_id,
                now.producer_epoch,
                now.started_ms,
                part.subtask,
                part.records,
            )
        )
    if gone:
        return gone
    return Decision(batch_id, "decided" if transactions else "done", tuple(transactions))


class Standing(StrEnum):
    """How far a decided transaction is."""

    OPEN = "open"  # to be committed
    COMMITTED = "committed"
    ABORTED = "aborted"  # by the broker or by a person
    UNKNOWN = "unknown"  # the broker has forgotten it


def standing(decided: Transaction, now: Found | None) -> Standing:
    """Where a decided transaction stands, told from the newest one of its transactional id.

    Only the driver aborts, and never what is decided; a producer begins its next transaction only
    when this one is committed. So a *newer* transaction of the id means: committed.
    """
    if now is None:
        return Standing.UNKNOWN
    same = (now.producer_id, now.producer_epoch) == (decided.producer_id, decided.producer_epoch)
    if now.state is BrokerState.ONGOING:
        is_it = same and now.started_ms == decided.started_ms
        return Standing.OPEN if is_it else Standing.COMMITTED
    if now.state in _COMMITTED:
        return Standing.COMMITTED
    if now.state in _ABORTED:
        return Standing.ABORTED
    return Standing.UNKNOWN


class Next(StrEnum):
    """What becomes of a decision."""

    END = "end"  # commit those that are open
    FINISH = "finish"  # all are committed: done
    GIVE_UP = "give up"  # nothing of it is committed and something is gone: void
    REPORT = "report"  # a part is committed and a part is gone: a person must know


def next_for(standings: Iterable[Standing]) -> Next:
    """The next step of a decision whose transactions stand so."""
    seen = set(standings)
    if Standing.UNKNOWN in seen:
        return Next.REPORT
    if Standing.ABORTED in seen:
        return Next.REPORT if Standing.COMMITTED in seen else Next.GIVE_UP
    return Next.END if Standing.OPEN in seen else Next.FINISH


class Answer(StrEnum):
    """What an answer to "commit this transaction" means."""

    DONE = "done"
    ASK = "ask"  # look where the transaction stands, and go on from there
    REFUSED = "refused"  # it will not change by itself


# Error codes of the protocol.  Whatever else the client library calls retriable is asked again too.
_ANSWERS = {
    0: Answer.DONE,
    14: Answer.ASK,  # the coordinator loads its log
    15: Answer.ASK,  # there is no coordinator at the moment
    16: Answer.ASK,  # another broker is the coordinator now
    47: Answer.ASK,  # the producer was fenced
    48: Answer.ASK,  # the transaction is not open
    49: Answer.ASK,  # the broker has given the id another producer
    51: Answer.ASK,  # it is just being ended
    90: Answer.ASK,  # the producer was fenced
}


def answer_for(error_code: int, *, retriable: bool) -> Answer:
    """What an answer of the broker means."""
    return _ANSWERS.get(error_code, Answer.ASK if retriable else Answer.REFUSED)


class Reuse(StrEnum):
    """What a worker does with a producer whose transaction it prepared earlier."""

    COMMIT = "commit"  # the driver has: let the producer know
    ABORT = "abort"  # nobody wanted it
    KEEP = "keep"  # the driver may still want it
    DROP = "drop"  # the producer is of no use any more


def reuse_for(prepared_batch: int, batch_id: int, now: Found | None) -> Reuse:
    """Whether a producer with a prepared transaction can serve another one.

    The batch of the writer that asks is later than that of the transaction only when the latter's
    batch is committed. If the transaction is still open then, it belongs to an attempt that was
    not chosen, and committing it would write its records twice.

    Args:
        prepared_batch: the batch of its prepared transaction.
        batch_id: the batch that a producer is needed for.
        now: what the broker says.
    """
    if now is None:
        return Reuse.DROP
    if now.state in _COMMITTED:
        return Reuse.COMMIT
    if now.state is BrokerState.ONGOING:
        return Reuse.ABORT if prepared_batch < batch_id else Reuse.KEEP
    return Reuse.DROP
