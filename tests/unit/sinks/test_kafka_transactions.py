"""The rules of the two-phase commit: every state of the broker, every answer, every repetition."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from headrace.connectors.kafka.transactions import (
    Answer,
    BrokerState,
    Decision,
    Found,
    Next,
    Prepared,
    Reuse,
    SinkTransactions,
    Standing,
    Transaction,
    answer_for,
    decide,
    next_for,
    reuse_for,
    standing,
)
from headrace.errors import StateError

S = BrokerState
DECIDED = Transaction("t-1", 7, 3, 1000, subtask=0, records=5)


def found(state: BrokerState, *, epoch: int = 3, pid: int = 7, started: int = 1000) -> Found:
    return Found(state, pid, epoch, started)


# names


def test_ids_of_a_sink_begin_alike_in_all_jobs_and_those_of_a_job_are_among_them() -> None:
    first, second = (SinkTransactions("p", job, "out") for job in ("job-1", "job-2"))
    assert first.of_sink == second.of_sink
    assert first.of_job != second.of_job
    assert first.of_job.startswith(first.of_sink)


def test_ids_of_two_sinks_with_one_prefix_are_apart() -> None:
    """The start of one sink must not abort what the other has decided on."""
    one, other = (SinkTransactions("p", "job", uid) for uid in ("one", "other"))
    assert not one.of_job.startswith(other.of_sink)


def test_a_prefix_that_begins_another_prefix_takes_none_of_its_transactions() -> None:
    short, long = (SinkTransactions(prefix, "job", "out") for prefix in ("p", "p-2"))
    assert not long.of_job.startswith(short.of_sink)


# deciding


def test_a_batch_whose_transactions_are_all_open_is_decided_in_order_of_subtasks() -> None:
    prepared = [Prepared("b", 1, 20), Prepared("a", 0, 10)]
    states = {"a": found(S.ONGOING, pid=1), "b": found(S.ONGOING, pid=2)}
    decision = decide(4, prepared, states)
    assert isinstance(decision, Decision)
    assert (decision.batch_id, decision.stage) == (4, "decided")
    assert [(t.transactional_id, t.producer_id, t.records) for t in decision.transactions] == [
        ("a", 1, 10),
        ("b", 2, 20),
    ]


@pytest.mark.parametrize("state", [s for s in BrokerState if s is not S.ONGOING])
def test_a_batch_with_a_transaction_that_is_not_open_is_not_decided(state: BrokerState) -> None:
    prepared = [Prepared("a", 0, 1), Prepared("b", 1, 1)]
    assert decide(4, prepared, {"a": found(S.ONGOING), "b": found(state)}) == [prepared[1]]


def test_a_batch_with_a_transaction_that_no_broker_knows_is_not_decided() -> None:
    prepared = [Prepared("a", 0, 1)]
    assert decide(4, prepared, {"a": None}) == prepared
    assert decide(4, prepared, {}) == prepared


def test_a_batch_without_records_is_done_at_once() -> None:
    assert decide(4, [], {}) == Decision(4, "done")


# where a decided transaction stands

STANDINGS = {
    S.ONGOING: Standing.OPEN,
    S.PREPARE_COMMIT: Standing.COMMITTED,
    S.COMPLETE_COMMIT: Standing.COMMITTED,
    S.PREPARE_ABORT: Standing.ABORTED,
    S.COMPLETE_ABORT: Standing.ABORTED,
    S.PREPARE_EPOCH_FENCE: Standing.ABORTED,
    S.EMPTY: Standing.UNKNOWN,
    S.DEAD: Standing.UNKNOWN,
    S.UNKNOWN: Standing.UNKNOWN,
}


@pytest.mark.parametrize("state", BrokerState)
def test_where_a_decided_transaction_stands(state: BrokerState) -> None:
    assert standing(DECIDED, found(state)) is STANDINGS[state]


@pytest.mark.parametrize("state", [s for s in BrokerState if s is not S.ONGOING])
def test_an_ended_transaction_stands_so_whatever_epoch_the_broker_gave_it(
    state: BrokerState,
) -> None:
    assert standing(DECIDED, found(state, epoch=4)) is STANDINGS[state]


@pytest.mark.parametrize("change", [{"epoch": 4}, {"pid": 8}, {"started": 2000}])
def test_a_newer_open_transaction_of_the_id_says_that_the_decided_one_is_committed(
    change: dict[str, int],
) -> None:
    """Committing it would commit the records of a batch that nobody has decided on."""
    assert standing(DECIDED, found(S.ONGOING, **change)) is Standing.COMMITTED


def test_a_transaction_that_no_broker_knows_is_unknown() -> None:
    assert standing(DECIDED, None) is Standing.UNKNOWN


# what becomes of a decision


def test_every_pair_of_standings_has_one_next_step() -> None:
    o, c, a, u = Standing.OPEN, Standing.COMMITTED, Standing.ABORTED, Standing.UNKNOWN
    expected = {
        (o, o): Next.END,
        (o, c): Next.END,
        (c, c): Next.FINISH,
        (a, a): Next.GIVE_UP,
        (o, a): Next.GIVE_UP,
        (c, a): Next.REPORT,
        (o, u): Next.REPORT,
        (c, u): Next.REPORT,
        (a, u): Next.REPORT,
        (u, u): Next.REPORT,
    }
    either_way = {(second, first): step for (first, second), step in expected.items()} | expected
    for first, second in product(Standing, repeat=2):
        step = next_for((first, second))
        assert step is either_way[first, second], (first, second)


def test_a_part_committed_a_part_open_and_a_part_gone_is_reported() -> None:
    assert next_for([Standing.OPEN, Standing.COMMITTED, Standing.ABORTED]) is Next.REPORT


def test_a_decision_without_transactions_is_finished() -> None:
    assert next_for([]) is Next.FINISH


def test_a_void_decision_leaves_its_batch_to_be_written() -> None:
    decision = Decision(4, "decided", (DECIDED,))
    assert decision.newest_batch == 4
    assert decision.became("done").newest_batch == 4
    assert decision.became("void").newest_batch == 3


# answers of the broker


@pytest.mark.parametrize(
    ("code", "retriable", "answer"),
    [
        (0, False, Answer.DONE),
        *((code, False, Answer.ASK) for code in (14, 15, 16, 47, 48, 49, 51, 90)),
        (7, True, Answer.ASK),  # timed out, as the client library says: once more
        (53, False, Answer.REFUSED),  # no right to
        (31, False, Answer.REFUSED),
    ],
)
def test_what_an_answer_means(code: int, retriable: bool, answer: Answer) -> None:
    assert answer_for(code, retriable=retriable) is answer


# producers with a prepared transaction

REUSE = {
    S.PREPARE_COMMIT: Reuse.COMMIT,
    S.COMPLETE_COMMIT: Reuse.COMMIT,
    S.PREPARE_ABORT: Reuse.DROP,
    S.COMPLETE_ABORT: Reuse.DROP,
    S.PREPARE_EPOCH_FENCE: Reuse.DROP,
    S.EMPTY: Reuse.DROP,
    S.DEAD: Reuse.DROP,
    S.UNKNOWN: Reuse.DROP,
}


@pytest.mark.parametrize("state", REUSE)
@pytest.mark.parametrize("batch", [4, 5])
def test_a_producer_whose_transaction_is_over_is_used_or_dropped(
    state: BrokerState, batch: int
) -> None:
    assert reuse_for(4, batch, found(state)) is REUSE[state]


def test_an_open_transaction_of_the_same_batch_is_kept_for_the_driver() -> None:
    assert reuse_for(4, 4, found(S.ONGOING)) is Reuse.KEEP
    assert reuse_for(4, 3, found(S.ONGOING)) is Reuse.KEEP


def test_an_open_transaction_of_an_earlier_batch_is_never_committed() -> None:
    """Its batch is committed with another attempt: its records would be there twice."""
    assert reuse_for(4, 5, found(S.ONGOING)) is Reuse.ABORT


def test_a_producer_that_no_broker_knows_is_dropped() -> None:
    assert reuse_for(4, 5, None) is Reuse.DROP


# the stored form


@pytest.mark.parametrize("stage", ["decided", "done", "void"])
def test_a_decision_is_read_as_it_was_written(stage: str) -> None:
    decision = replace(Decision(4, "decided", (DECIDED,)), stage=stage)  # type: ignore[arg-type]
    assert Decision.from_json(decision.to_json(), "here") == decision


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"{", "cannot be read"),
        (b'{"format": 1}', "cannot be read"),
        (b'{"format": 1, "batch_id": 1, "stage": "odd", "transactions": []}', "unknown stage"),
        (b'{"format": 9}', "has format 9"),
    ],
)
def test_a_decision_that_cannot_be_read_is_told_with_its_place(content: bytes, text: str) -> None:
    with pytest.raises(StateError, match=text) as caught:
        Decision.from_json(content, "s3://x/kafka-transactions.json")
    assert caught.value.where == "s3://x/kafka-transactions.json"
    assert caught.value.fix
