"""An election by ZooKeeper, and the pointers to jobs that it keeps.

    <root>/latch/...        kazoo's lock: its first node is the leader's
    <root>/leader           who leads: address and epoch; gone with the leader's session
    <root>/jobs/<job id>    where the job and its checkpoint are

In: the addresses of ZooKeeper.  Out: see leadership.py.  Epochs are claimed in the shared storage,
where jobs look for them as well: a ZooKeeper that has lost its data cannot count backwards.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from dataclasses import asdict
from typing import TYPE_CHECKING

from headrace.dispatcher.leadership import Leader, LeaderEpochs
from headrace.errors import EnvironmentSetupError
from headrace.io.waiting import at_most, told_when_long

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.common.opaque import JsonObject

log = logging.getLogger(__name__)

_POLL_S = 0.25


class ZooKeeperElection:
    """One candidate, with a session of its own.

    Args:
        folder: of the cluster, in the shared storage.
        address: of this dispatcher.
        servers: addresses of ZooKeeper.
        root: the node of this cluster.
        session_timeout_s: ZooKeeper gives a silent leader up after this long.
    """

    def __init__(
        self, folder: Path, address: str, *, servers: str, root: str, session_timeout_s: float
    ) -> None:
        try:
            from kazoo.client import KazooClient
            from kazoo.retry import KazooRetry
        except ImportError:
            raise EnvironmentSetupError(
                "high-availability.type zookeeper needs kazoo, which is not installed",
                fix="pip install 'headrace[cluster]'",
            ) from None
        self._epochs = LeaderEpochs(folder / "epochs")
        self._address = address
        self._servers = servers
        self._root = root
        forever = {"max_tries": -1, "max_delay": 2.0}
        self._client = KazooClient(
            hosts=servers,
            timeout=session_timeout_s,
            connection_retry=KazooRetry(**forever),
            logger=logging.getLogger("headrace.kazoo"),
        )
        self._epoch: int | None = None
        self._connected = False
        self._lost = threading.Event()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_gain: Callable[[int], None] = lambda epoch: None
        self._on_loss: Callable[[], None] = lambda: None

    def start(self, on_gain: Callable[[int], None], on_loss: Callable[[], None]) -> None:
        """Connect and wait for the lead, in a thread of its own; ZooKeeper may come later."""
        self._on_gain, self._on_loss = on_gain, on_loss
        self._client.add_listener(self._hear)
        self._client.start_async()
        self._thread = threading.Thread(target=self._run, name="headrace-election", daemon=True)
        self._thread.start()

    def leads(self) -> bool:
        """ZooKeeper can be reached and says so, and nobody has claimed a later epoch."""
        epoch = self._epoch
        return epoch is not None and self._connected and self._epochs.highest() == epoch

    def leader(self) -> Leader | None:
        """Who leads, by the node in ZooKeeper; None while it cannot be asked."""
        if not self._connected:
            return None
        try:
            return Leader(**json.loads(self._client.get(f"{self._root}/leader")[0]))
        except Exception:  # no node, or no connection: nobody is known to lead
            return None

    def close(self) -> None:
        """Leave at once: the session ends with this call, and not with its timeout."""
        self._over.set()
        self._lost.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
        with contextlib.suppress(Exception):
            self._client.stop()
            self._client.close()

    # --- pointers to jobs --------------------------------------------------------------------

    def note_job(self, job_id: str, pointer: JsonObject | None) -> None:
        """Keep a pointer; a ZooKeeper that is away gets it at the next change."""
        path = f"{self._root}/jobs/{job_id}"

        def keep() -> None:
            if pointer is None:
                if self._client.exists(path):
                    self._client.delete(path)
                return
            data = json.dumps(pointer).encode()
            if self._client.exists(path):
                self._client.set(path, data)
            else:
                self._client.create(path, data, makepath=True)

        self._try(f"take the pointer to job {job_id[:8]}", keep)

    def noted_jobs(self) -> dict[str, JsonObject]:
        """All pointers."""
        found: dict[str, JsonObject] = {}

        def read() -> None:
            self._client.ensure_path(f"{self._root}/jobs")
            for job_id in self._client.get_children(f"{self._root}/jobs"):
                found[job_id] = json.loads(self._client.get(f"{self._root}/jobs/{job_id}")[0])

        self._try("give the pointers to jobs", read)
        return found

    def _try(self, what: str, action: Callable[[], None]) -> None:
        """The storage has the truth, so a failure is told, and no more."""
        try:
            if self._connected:
                action()
            else:
                log.warning("ZooKeeper cannot %s: it is not reached", what)
        except Exception:
            log.warning("ZooKeeper did not %s", what, exc_info=True)

    # --- the thread --------------------------------------------------------------------------

    def _hear(self, state: str) -> None:
        """Called by kazoo: CONNECTED, SUSPENDED (nobody knows), LOST (the session is over)."""
        self._connected = state == "CONNECTED"
        if state == "LOST":
            self._lost.set()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._lead_once()
            except Exception:
                if not self._over.is_set():
                    log.warning(
                        "the election by ZooKeeper failed, and is tried again", exc_info=True
                    )
            self._over.wait(_POLL_S)

    def _lead_once(self) -> None:
        """Wait for the lead, lead until the session is lost or this dispatcher ends."""
        with told_when_long(f"ZooKeeper at {self._servers} to answer", at_most(None)):
            while not (self._connected or self._over.is_set()):
                self._over.wait(_POLL_S)
        if not self._connected:
            return
        self._lost.clear()
        latch = self._client.Lock(f"{self._root}/latch", identifier=self._address)
        if not self._wait_for(latch):
            return
        epoch = self._epochs.claim_next(self._address)
        try:
            self._publish(epoch)
            self._epoch = epoch
            log.warning("the dispatcher at %s leads (epoch %d)", self._address, epoch)
            self._on_gain(epoch)
            while not self._lost.wait(_POLL_S) and self._epochs.highest() == epoch:
                pass
        finally:
            self._epoch = None
            if not self._over.is_set():
                log.warning("the dispatcher at %s no longer leads (epoch %d)", self._address, epoch)
                self._on_loss()
            with contextlib.suppress(Exception):
                latch.release()

    def _wait_for(self, latch: object) -> bool:
        from kazoo.exceptions import LockTimeout

        while not self._over.is_set():
            try:
                if latch.acquire(timeout=1.0):  # type: ignore[attr-defined]
                    return True
            except LockTimeout:
                continue
        return False

    def _publish(self, epoch: int) -> None:
        from kazoo.exceptions import NodeExistsError, NoNodeError

        path = f"{self._root}/leader"
        own = self._epochs.read(epoch) or Leader(self._address, epoch)
        data = json.dumps(asdict(own)).encode()
        while True:
            try:
                self._client.create(path, data, ephemeral=True, makepath=True)
            except NodeExistsError:  # of a session that is over, or about to be
                with contextlib.suppress(NoNodeError):
                    self._client.delete(path)
            else:
                return
