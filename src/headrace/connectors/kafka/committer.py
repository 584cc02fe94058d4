"""Commits the transactions that workers prepared, once per batch, whatever dies in between.

In: `Prepared` transactions of a batch (writer.py).  Out: messages that readers with
``isolation.level=read_committed`` see.  The rules are in transactions.py.

    crash before the decision is stored   nothing happened: the next run aborts the transactions
                                          when it starts, and repeats the batch
    crash after it                        the next run commits the transactions before its workers
                                          begin, and drops what it writes for the batch again
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from headrace.connectors.kafka.transactions import (
    Decision,
    Next,
    Prepared,
    Standing,
    decide,
    next_for,
    standing,
)
from headrace.errors import ConnectorError
from headrace.io.waiting import at_most, told_when_long
from headrace.spi.sink import Committer
from headrace.spi.staging import OnceCommitter

if TYPE_CHECKING:
    from headrace.connectors.kafka.decision_log import DecisionLog
    from headrace.connectors.kafka.transaction_admin import TransactionAdmin
    from headrace.connectors.kafka.transactions import Found, SinkTransactions, Transaction

_PATIENCE_S = 60.0
_FIRST_PAUSE_S = 0.005
_LONGEST_PAUSE_S = 0.5

_log = logging.getLogger(__name__)


class KafkaCommitter(OnceCommitter):
    """The committer of a Kafka sink.

    Args:
        admin: ends transactions.
        log: what was decided before.
        names: the sink's transactional ids; None for one that only finishes what was decided.
        epochs_overlap: whether an epoch counts before it is committed (spi/sink.py).
    """

    def __init__(
        self,
        admin: TransactionAdmin,
        log: DecisionLog,
        names: SinkTransactions | None,
        *,
        epochs_overlap: bool = False,
    ) -> None:
        super().__init__(admin.where, forget=log.where)
        self._admin = admin
        self._log = log
        self._names = names
        self._epochs_overlap = epochs_overlap
        self._settle(repeat_later=not epochs_overlap)

    def begin(self) -> None:
        """Aborts what is open: it was left by a run that is over."""
        assert self._names is not None
        self._abort_open(self._names.of_sink)

    def apply_once(self, batch_id: int, committables: list[Prepared]) -> int:
        """Commits the transactions of a batch, or finishes what an earlier try decided."""
        newest = self._settle(repeat_later=False)
        if batch_id > newest:
            self._decide(batch_id, committables)
        return newest

    def remove_staged(self, batch_id: int) -> None:
        """Aborts what is open still: attempts that died or that were not chosen.

        They would hide all later messages from readers until they time out. Where epochs overlap
        no attempt is made twice, and what is open is of the next epoch.
        """
        assert self._names is not None
        if self._epochs_overlap:
            return
        self._abort_open(self._names.of_job)

    def close(self) -> None:
        """Ends the connections of the driver."""
        self._admin.close()

    # --- the two phases ----------------------------------------------------------------------

    def _decide(self, batch_id: int, prepared: list[Prepared]) -> None:
        found = self._admin.describe(part.transactional_id for part in prepared)
        decision = decide(batch_id, prepared, found)
        if not isinstance(decision, Decision):
            raise self._gone_before(batch_id, decision)
        self._log.write(decision)
        if self._carried_out(decision, found).stage == "void":
            raise self._given_up(decision)

    def _settle(self, *, repeat_later: bool) -> int:
        """Finishes the newest decision; returns the newest batch that is written.

        Args:
            repeat_later: whether the batch of a decision that has to be given up comes again
                anyway, as it does in a new run.
        """
        decision = self._log.read()
        if decision is None:
            return -1
        if decision.stage == "decided":
            decision = self._carried_out(decision, self._describe(decision))
            if decision.stage == "void" and not repeat_later:
                raise self._given_up(decision)
            if decision.stage == "void":
                _log.warning("batch %d is written again: Kafka aborted it", decision.batch_id)
        return decision.newest_batch

    def _carried_out(self, decision: Decision, found: dict[str, Found | None]) -> Decision:
        what = f"{self._where} to commit the transactions of batch {decision.batch_id}"
        with told_when_long(what, at_most(_PATIENCE_S)):
            return self._carry_out(decision, found)

    def _carry_out(self, decision: Decision, found: dict[str, Found | None]) -> Decision:
        """Commits what is open until nothing is; gives the decision back as done, or as void."""
        pause_s, deadline = _FIRST_PAUSE_S, time.monotonic() + _PATIENCE_S
        while True:
            stands = {t: standing(t, found.get(t.transactional_id)) for t in decision.transactions}
            step = next_for(stands.values())
            if step is Next.FINISH:
                return self._store(decision.became("done"))
            if step is Next.GIVE_UP:
                return self._store(decision.became("void"))
            if step is Next.REPORT:
                raise self._lost(decision, stands)
            if time.monotonic() > deadline:
                raise self._stuck(decision)
            self._admin.commit(_those_open(stands, found))
            found = self._describe(decision)
            if any(standing(t, found.get(t.transactional_id)) is Standing.OPEN for t in stands):
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _describe(self, decision: Decision) -> dict[str, Found | None]:
        return self._admin.describe(each.transactional_id for each in decision.transactions)

    def _store(self, decision: Decision) -> Decision:
        self._log.write(decision)
        return decision

    def _abort_open(self, prefix: str) -> None:
        left = self._admin.open_ids(prefix)
        if left:
            _log.info("aborting %d open transactions of earlier attempts: %s", len(left), left)
            self._admin.fence(left)

    # --- what a person must know ---------------------------------------------------------------

    def _gone_before(self, batch_id: int, gone: list[Prepared]) -> ConnectorError:
        if self._epochs_overlap:
            return self._gone_for_good(batch_id)
        return ConnectorError(
            f"batch {batch_id} is not committed: Kafka has aborted {len(gone)} of its transactions "
            f"before they were complete, the first is {gone[0].transactional_id}",
            where=self._where,
            fix="nothing is lost, the batch is repeated when the job starts again; if batches take "
            "longer than transaction.timeout.ms, raise it with set_property; if another job has "
            "the same transactional id prefix, give it one of its own",
        )

    def _gone_for_good(self, batch_id: int) -> ConnectorError:
        return ConnectorError(
            f"the messages of epoch {batch_id} are lost: Kafka has aborted its transactions before "
            "they were committed, because nobody came for longer than their timeout, and the job's "
            "state is past them",
            where=self._where,
            fix="start the job from an earlier savepoint to write them again; raise "
            "transaction.timeout.ms above the interval of checkpoints and the longest time that "
            "the driver may be away",
        )

    def _given_up(self, decision: Decision) -> ConnectorError:
        if self._epochs_overlap:
            return self._gone_for_good(decision.batch_id)
        return ConnectorError(
            f"batch {decision.batch_id} is not committed: Kafka has aborted transactions of it, "
            "and none was committed yet",
            where=self._where,
            fix="nothing is lost, the batch is repeated when the job starts again; was the driver "
            "or the broker away for longer than transaction.timeout.ms?",
        )

    def _lost(self, decision: Decision, stands: dict[Transaction, Standing]) -> ConnectorError:
        gone = [t for t, how in stands.items() if how in (Standing.ABORTED, Standing.UNKNOWN)]
        records = sum(each.records for each in gone)
        subtasks = ", ".join(str(each.subtask) for each in gone)
        return ConnectorError(
            f"batch {decision.batch_id} is only partly written: Kafka has aborted or forgotten "
            f"{len(gone)} of its {len(stands)} transactions after it was decided to commit them, "
            f"because nobody came for longer than their timeout; {records:,} messages of subtask "
            f"{subtasks} are missing",
            where=f"{self._where}; decision in {self._log.where}",
            fix="no program can mend this without writing a part twice. To write the whole batch "
            "again, so that its other messages are there twice, delete the file of the decision; "
            'to go on without what is missing, write "done" for "decided" in it. Raise '
            "transaction.timeout.ms above the longest time that the driver may be away",
        )

    def _stuck(self, decision: Decision) -> ConnectorError:
        return ConnectorError(
            f"the transactions of batch {decision.batch_id} are decided on, but the broker did not "
            f"commit them within {_PATIENCE_S:.0f} s",
            where=self._where,
            fix="check the brokers' health; they are committed when the job starts again",
        )


class NothingToCommit(Committer):
    """The committer of a sink without transactions: its messages are in Kafka already."""

    def commit(self, batch_id: int, committables: list[Prepared]) -> None:
        """Does nothing."""


def _those_open(
    stands: dict[Transaction, Standing], found: dict[str, Found | None]
) -> dict[Transaction, Found]:
    chosen: dict[Transaction, Found] = {}
    for each, how in stands.items():
        now = found.get(each.transactional_id)
        if how is Standing.OPEN and now is not None:
            chosen[each] = now
    return chosen
