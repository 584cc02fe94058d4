"""An election by files in a directory that all dispatchers share; no server is needed.

    leader    ── counts its .beat up ──▶  epochs/0000000007.beat
    standby   ── sees no new beat for a lease, by its own clock ──▶ claims epoch 8

In: the shared directory.  Out: see leadership.py.  Clocks of machines need not agree: a standby
measures how long it has seen the same beat.  A leader that was suspended finds on waking that its
own lease is over, and acts no more before it has looked whether another one leads.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from headrace.dispatcher.leadership import InStorage, Leader, LeaderEpochs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

log = logging.getLogger(__name__)

_LEFT = "left"  # in place of a beat: the leader has ended, and nobody needs to wait


class FileElection(InStorage):
    """One candidate.

    Args:
        folder: of the cluster.
        address: of this dispatcher.
        lease_s: a leader that was silent for this long is replaced.
    """

    def __init__(
        self,
        folder: Path,
        address: str,
        *,
        lease_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._epochs = LeaderEpochs(folder / "epochs")
        self._address = address
        self._lease_s = lease_s
        self._clock = clock
        self._epoch: int | None = None  # while this one leads
        self._beats = 0
        self._renewed_at = 0.0
        self._seen: tuple[int, str] = (0, "")  # the newest epoch, and its last beat
        self._seen_at = clock()
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_gain: Callable[[int], None] = lambda epoch: None
        self._on_loss: Callable[[], None] = lambda: None

    def start(self, on_gain: Callable[[int], None], on_loss: Callable[[], None]) -> None:
        """Begin to look, in a thread of its own."""
        self._on_gain, self._on_loss = on_gain, on_loss
        self._thread = threading.Thread(target=self._run, name="headrace-election", daemon=True)
        self._thread.start()

    def leads(self) -> bool:
        """Its lease is not over, and nobody has claimed a later epoch."""
        epoch = self._epoch
        if epoch is None or self._clock() - self._renewed_at >= self._lease_s:
            return False
        return self._epochs.highest() == epoch

    def leader(self) -> Leader | None:
        """Who claimed the newest epoch, unless it has left."""
        epoch = self._epochs.highest()
        return None if not epoch or self._beat(epoch) == _LEFT else self._epochs.read(epoch)

    def close(self) -> None:
        """Leave; a standby need not wait for the lease."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        epoch, self._epoch = self._epoch, None
        if epoch is not None and self._epochs.highest() == epoch:
            self._epochs.beat_file(epoch).write_text(_LEFT)

    # --- the thread --------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._over.wait(min(1.0, self._lease_s / 8)):
            try:
                self.look()
            except Exception:  # the storage may be away for a while; the lease decides
                log.warning("the election cannot read or write its files", exc_info=True)
                self._leave_if_over()

    def look(self) -> None:
        """One look at the files: renew, give up, or claim."""
        if self._epoch is None:
            self._apply()
        elif self._epochs.highest() != self._epoch:
            self._lose()
        else:
            self._renew(self._epoch)

    def _renew(self, epoch: int) -> None:
        self._beats += 1
        file = self._epochs.beat_file(epoch)
        draft = file.with_name(f".{file.name}.{self._beats}")
        draft.write_text(str(self._beats))
        draft.replace(file)
        self._renewed_at = self._clock()

    def _leave_if_over(self) -> None:
        if self._epoch is not None and self._clock() - self._renewed_at >= self._lease_s:
            self._lose()

    def _lose(self) -> None:
        log.warning("the dispatcher at %s no longer leads (epoch %s)", self._address, self._epoch)
        self._epoch = None
        self._seen, self._seen_at = (0, ""), self._clock()
        self._on_loss()

    def _apply(self) -> None:
        """Claim the next epoch if the leader of the newest one is gone."""
        epoch = self._epochs.highest()
        seen = epoch, self._beat(epoch)
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock()
        if epoch and not self._is_gone(epoch):
            return
        claimed_at = self._clock()
        if self._epochs.claim(epoch + 1, self._address):
            self._epoch, self._renewed_at = epoch + 1, claimed_at
            log.warning("the dispatcher at %s leads (epoch %d)", self._address, self._epoch)
            self._on_gain(self._epoch)

    def _is_gone(self, epoch: int) -> bool:
        if self._seen[1] == _LEFT or self._clock() - self._seen_at >= self._lease_s:
            return True
        leader = self._epochs.read(epoch)
        return leader is not None and leader.process.is_alive() is False

    def _beat(self, epoch: int) -> str:
        try:
            return self._epochs.beat_file(epoch).read_text()
        except OSError:
            return ""
