"""Looks at transactions and ends them from outside, which librdkafka cannot do.

In: transactional ids.  Out: what the brokers say of them.  A thin layer over kafka-python's admin
client; what to do is decided in transactions.py.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any, TypeVar

from headrace.connectors.kafka.client import second_library
from headrace.connectors.kafka.client_errors import AWAY, DENIED, LOG_IN, check_login
from headrace.connectors.kafka.transactions import Answer, BrokerState, Found, answer_for
from headrace.errors import ConnectorError
from headrace.io.server_calls import Retries, ServerClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from headrace.connectors.kafka.client import ClientSettings
    from headrace.connectors.kafka.transactions import Transaction

T = TypeVar("T")

# Later versions give the producer a new epoch (KIP-890), which the worker's producer would not
# know: it would be fenced, and making a new one takes 0.1 to 1 s.
_END_VERSION = 3
_INIT_VERSION = 4
_CONCURRENT_TRANSACTIONS = 51
_BOOTSTRAP_S, _REQUEST_S = 5.0, 10.0
_MOST_TRIES = 1_000  # the time is what ends the patience


class TransactionAdmin(ServerClient[Any]):
    """The transactions of a cluster; a connection of its own for every process.

    Args:
        settings: of the sink's clients.
        retries: the patience with brokers that are away; None for that of the settings.
    """

    def __init__(self, settings: ClientSettings, retries: Retries | None = None) -> None:
        self._kafka = second_library()
        self._errors = second_library("kafka.errors")
        self._requests = second_library("kafka.protocol.producer.transaction")
        self._settings = settings
        self._client: tuple[int, Any] | None = None
        patience = Retries(attempts=_MOST_TRIES, within_s=settings.patience_s)
        super().__init__(settings.where, retries or patience, self._errors.KafkaError)

    def describe(self, ids: Iterable[str]) -> dict[str, Found | None]:
        """The newest transaction of each id; None for an id that no broker knows."""
        wanted = sorted(set(ids))
        if not wanted:
            return {}
        return self.run("look at transactions", lambda admin: self._describe(admin, wanted))

    def commit(self, transactions: Mapping[Transaction, Found]) -> None:
        """Commits open transactions; returns when the broker has taken it, or asks to look again.

        Raises:
            ConnectorError: the broker refuses.
        """
        self.run(
            "commit transactions",
            lambda admin: admin._manager.run(self._commit, admin, transactions),
        )

    def open_ids(self, prefix: str) -> list[str]:
        """The transactional ids that begin so and have an open transaction."""
        return self.run("list open transactions", lambda admin: self._open_ids(admin, prefix))

    def fence(self, ids: Iterable[str]) -> None:
        """Aborts the open transactions of these ids; their producers can do nothing any more."""
        for each in sorted(set(ids)):
            self.run(
                f"abort the transaction {each}",
                lambda admin, each=each: admin._manager.run(self._fence, admin, each),  # type: ignore[misc]
            )

    def close(self) -> None:
        """Ends the connections of this process."""
        client, self._client = self._client, None
        if client is not None and client[0] == os.getpid():
            with contextlib.suppress(Exception):
                client[1].close()

    # --- calls -------------------------------------------------------------------------------

    def _describe(self, admin: Any, ids: list[str]) -> dict[str, Found | None]:
        try:
            return _as_found(admin.describe_transactions(ids))
        except self._errors.TransactionalIdNotFoundError:
            if len(ids) == 1:
                return {ids[0]: None}
        # One that is unknown fails the whole call.
        return {each: self._describe(admin, [each])[each] for each in ids}

    async def _commit(self, admin: Any, transactions: Mapping[Transaction, Found]) -> None:
        sent = [
            (each, admin._manager.send(self._end_request(each), node_id=now.coordinator))
            for each, now in transactions.items()
        ]
        for each, future in sent:  # all are on their way before the first answer is waited for
            code = (await future).error_code
            error = self._errors.for_code(code)
            if answer_for(code, retriable=error.retriable) is Answer.REFUSED:
                raise error(f"the broker does not commit {each.transactional_id}")

    def _end_request(self, transaction: Transaction) -> Any:
        return self._requests.EndTxnRequest(
            version=_END_VERSION,
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            committed=True,
        )

    def _open_ids(self, admin: Any, prefix: str) -> list[str]:
        try:
            pattern = f"{re.escape(prefix)}.*"
            listed = admin.list_transactions(
                state_filters=[BrokerState.ONGOING.value], transactional_id_pattern=pattern
            )
        except self._errors.UnsupportedVersionError:  # brokers before 4.1
            listed = admin.list_transactions(state_filters=[BrokerState.ONGOING.value])
        found = (each.transactional_id for part in listed.values() for each in part)
        return sorted(each for each in found if each.startswith(prefix))

    async def _fence(self, admin: Any, transactional_id: str) -> None:
        request = self._requests.InitProducerIdRequest(
            max_version=_INIT_VERSION,
            transactional_id=transactional_id,
            transaction_timeout_ms=60_000,
            producer_id=-1,
            producer_epoch=-1,
        )
        coordinators = await admin._find_coordinator_ids([transactional_id], key_type=1)
        node = coordinators[transactional_id]
        code = (await admin._manager.send(request, node_id=node)).error_code
        # "Concurrent": the producer is fenced, and the abort is under way.
        if code not in (0, _CONCURRENT_TRANSACTIONS):
            raise self._errors.for_code(code)(f"the broker does not fence {transactional_id}")

    # --- the connection ----------------------------------------------------------------------

    def _once(self, call: Callable[[Any], T]) -> T:
        try:
            return call(self._connected())
        except Exception:
            # The client remembers who coordinates what; after an error that may be wrong.
            self.close()
            raise

    def _connected(self) -> Any:
        # A process that was forked has no thread for the connection it inherits.
        if self._client is None or self._client[0] != os.getpid():
            admin = self._connect()
            self._client = os.getpid(), admin
        return self._client[1]

    def _connect(self) -> Any:
        settings, patience_s = self._settings.second_client(self.where), self._settings.patience_s
        begin_s = min(_BOOTSTRAP_S, patience_s / 2)  # the other half is for the login's
        try:
            return self._kafka.KafkaAdminClient(
                **settings,
                bootstrap_timeout_ms=int(1000 * begin_s),
                request_timeout_ms=int(1000 * min(_REQUEST_S, patience_s)),
            )
        except self._errors.KafkaError:
            check_login(self._settings, begin_s)
            raise

    def _passes(self, error: Exception) -> bool:
        return bool(
            isinstance(error, OSError)
            or (isinstance(error, self._errors.KafkaError) and error.retriable)
        )

    def _explained(self, error: Exception, what: str) -> ConnectorError:
        if isinstance(error, self._errors.AuthorizationError):
            fix = DENIED
        elif "SASL" in str(error) or isinstance(error, self._errors.SaslAuthenticationFailedError):
            fix = LOG_IN
        else:
            fix = f"{AWAY}, and what is decided is committed then"
        return ConnectorError(f"cannot {what}: {error}", where=self.where, fix=fix)


def _as_found(described: Mapping[str, Any]) -> dict[str, Found | None]:
    return {
        each: Found(
            BrokerState(now.state.value),
            now.producer_id,
            now.producer_epoch,
            now.transaction_start_time_ms,
            now.coordinator_id,
        )
        for each, now in described.items()
    }
