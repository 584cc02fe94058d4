"""The fault experiment: a job, a monkey, a checker.  `make chaos` runs it for minutes.

    quiet half: no faults, no restarts ─▶ the driver is killed ─▶ faults, with a restart strategy

In: a seed and how long.  Out: progress, a table of faults and recovery times, why drivers ended by
themselves; exit code 1 if the output differs from that of an undisturbed run, or if the job failed
in the quiet half.  A fault is recovered from when an event that was published after it has been
answered.
Next: chaos/monkey.py (what happens), chaos/job.py (to what), chaos/checker.py (the verdict)
"""

from __future__ import annotations

import argparse
import contextlib
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from chaos.job import MODES, SLOTS, Driver, log_tail, now
from chaos.machine import Generator
from chaos.media import Files, Kafka, Medium
from chaos.monkey import FAULTS, STOP_PATIENCE_S, Fault, Monkey, schedule
from chaos.sql_media import SqlFiles, SqlKafka
from standalone import Cluster

if TYPE_CHECKING:
    from collections.abc import Callable

RECOVERY_PATIENCE_S = 300.0
MOST_DRIVER_ENDS = 10  # that nobody ordered
MET_LATER = ("failing sink", "full disk", "connection")
MEDIA: dict[tuple[str, str], Callable[[Path], Medium]] = {
    ("machine", "files"): Files,
    ("machine", "kafka"): Kafka,
    ("sql", "files"): SqlFiles,
    ("sql", "kafka"): SqlKafka,
}


@dataclass
class Strike:
    """A fault that has happened."""

    kind: str
    what: str
    since: float
    needs: int  # the source file of which an answer shows that the job has recovered
    recovered_s: float | None = None


class Experiment:
    """One job under attack; use it in a `with` statement."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        *,
        cluster: Cluster | None,
        medium: Medium | None = None,
        mode: str = "micro-batch",
        quiet: bool = False,
        tell: Callable[[str], None] = print,
    ) -> None:
        self.seed = seed
        self.strikes: list[Strike] = []
        self.ends: list[str] = []  # why a driver ended that nobody had told to
        self._tell = tell
        self._began = now()
        self._generator = Generator(seed)
        self._medium = medium or Files(folder)
        self._source = self._medium.source(self._generator, self._medium.interval_s)
        self._output = self._medium.output()
        threads = 2 if mode == "micro-batch" else SLOTS
        master = f"local[{threads}]" if cluster is None else cluster.url
        program = self._medium.program
        self.driver = Driver(folder, master, 2, self._medium.settings(), mode, program)
        self.monkey = Monkey(self.driver, cluster, self._medium)
        # nothing happens to the job, so it need not be started again either
        self._quiet = quiet
        self.driver.may_restart = not quiet
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="chaos-watcher", daemon=True)

    def __enter__(self) -> Experiment:
        self._source.start()
        self.driver.start()
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._source.stop()
        self._watcher.join()
        self.driver.close()
        self._medium.close()

    # --- what happens ------------------------------------------------------------------------

    def wait_for_start(self) -> None:
        """Until the first event is answered."""
        self._wait(lambda: self._output.newest >= 0, "answered its first event")
        self.tell("the job runs")

    def stay_quiet(self, seconds: float) -> None:
        """Let the job run for a while; then it gets a restart strategy, by a new driver."""
        self._sleep(seconds)
        self.tell(f"the quiet half is over; the job failed {len(self.ends)} times")
        self._quiet, self.driver.may_restart = False, True
        strike = Strike("driver", "the end of the quiet half", now(), self._source.published + 1)
        self.monkey.kill_driver((0.0,))
        self.strikes.append(strike)

    def strike(self, fault: Fault) -> None:
        """Wait as the fault says, then let it happen."""
        if not fault.overlaps or fault.kind == "savepoint and rescale":
            self.wait_for_recovery()
        self._sleep(fault.pause_s)
        strike = Strike(fault.kind, "", now(), self._source.published + 1)
        strike.what = self.monkey.strike(fault)
        strike.needs = max(strike.needs, self._published_by(fault))
        self.strikes.append(strike)
        self.tell(f"{fault.kind}: {strike.what}")

    def _published_by(self, fault: Fault) -> int:
        # A sink's order or a full disk need not be met by the batch that is already under way.
        return self._source.published + (2 if fault.kind in MET_LATER else 0)

    def wait_for_recovery(self) -> None:
        """Until the job has recovered from all faults so far."""
        self._wait(lambda: all(s.recovered_s is not None for s in self.strikes), "recovered")

    def finish(self) -> list[str]:
        """Let the job answer everything, end it, and compare; the differences."""
        self._source.stop()
        verdict = self._medium.verdict(self._generator.made)
        with contextlib.suppress(TimeoutError):  # the comparison says what is missing
            self._wait(lambda: verdict.complete(self._output), "answered everything")
        self.tell(f"{verdict.progress(self._output)}; draining")
        stopped = self.driver.stop(drain=True, patience_s=STOP_PATIENCE_S)
        found = verdict.differences()
        return found if stopped else ["the job did not drain", *found]

    # --- watching ----------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            self._output.look()
            for strike in self.strikes:
                if strike.recovered_s is None and self._output.newest >= strike.needs:
                    strike.recovered_s = now() - strike.since

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        deadline = now() + RECOVERY_PATIENCE_S
        while not condition():
            if now() > deadline:
                self.tell(f"the end of the driver's log:\n{log_tail(self.driver.log)}")
                raise TimeoutError(f"the job has not {what} within {RECOVERY_PATIENCE_S:.0f} s")
            self._supervise()
            time.sleep(0.05)

    def _sleep(self, seconds: float) -> None:
        deadline = now() + seconds
        while now() < deadline:
            self._supervise()
            time.sleep(0.05)

    def _supervise(self) -> None:
        """Start a driver again that ended by itself, as any service manager would."""
        if self.driver.alive:
            return
        tail = log_tail(self.driver.log, 15)
        when = "in the quiet half" if self._quiet else "among faults"
        self.ends.append(f"{when}, after {now() - self._began:.0f} s: {reason_of(tail)}")
        self.tell(f"the driver ended by itself and is started again; its last words:\n{tail}")
        if len(self.ends) > MOST_DRIVER_ENDS:
            raise TimeoutError("the driver ends again and again")
        self.driver.start()

    def tell(self, text: str) -> None:
        """A line of progress."""
        self._tell(f"[{now() - self._began:6.1f} s] {text}")


def reason_of(tail: str) -> str:
    """The last error in the end of a log; an error's own lines come before its ``where``."""
    lines = [line.strip() for line in tail.splitlines() if line.strip()]
    told = [line for line in lines if re.search(r"\[[A-Z][A-Z_]+\]|(Error|Exception)\b", line)]
    return (told or lines or ["nothing in its log"])[-1]


def summary(strikes: list[Strike]) -> str:
    """Faults and recovery times as a table."""
    by_kind: dict[str, list[Strike]] = defaultdict(list)
    for strike in strikes:
        by_kind[strike.kind].append(strike)
    lines = [f"{'fault':<24}{'times':>6}{'recovered':>11}{'median s':>10}{'worst s':>9}"]
    for kind in FAULTS:
        times = sorted(s.recovered_s for s in by_kind[kind] if s.recovered_s is not None)
        middle, worst = (times[len(times) // 2], times[-1]) if times else (0.0, 0.0)
        lines.append(
            f"{kind:<24}{len(by_kind[kind]):>6}{len(times):>11}{middle:>10.1f}{worst:>9.1f}"
        )
    return "\n".join(lines)


def run(
    folder: Path, seed: int, seconds: float, medium: Callable[[Path], Medium], mode: str
) -> int:
    """The experiment on a cluster of two workers; the exit code."""
    (folder / "cluster").mkdir()
    with (
        Cluster(folder / "cluster", cores=1 if mode == "micro-batch" else SLOTS) as cluster,
        Experiment(
            folder, seed, cluster=cluster, medium=medium(folder), mode=mode, quiet=True, tell=_print
        ) as experiment,
    ):
        monkey = experiment.monkey
        for kind in FAULTS:
            if reason := monkey.why_not(kind):
                experiment.tell(f"left out: {kind} ({reason})")
        problems: list[str] = []
        try:
            experiment.wait_for_start()
            experiment.stay_quiet(seconds / 2)
            problems += [f"a healthy job ended {why}" for why in experiment.ends]
            deadline = now() + seconds / 2
            faults = schedule(seed, monkey.kinds())
            for fault in takewhile(lambda _: now() < deadline, faults):
                experiment.strike(fault)
            experiment.wait_for_recovery()
        except TimeoutError as error:
            problems.append(str(error))
        problems += experiment.finish()
    _print(f"\n{summary(experiment.strikes)}")
    _print(f"drivers that ended unasked and were started again: {len(experiment.ends)}")
    for why in experiment.ends:
        _print(f"  {why}")
    for problem in problems:
        _print(f"WRONG: {problem}")
    verdict = "failed" if problems else "no false alert, equal output"
    _print(f"seed {seed}: {verdict}")
    return 1 if problems else 0


def _print(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=300, help="how long; faults happen in the second half"
    )
    parser.add_argument("--seed", type=int, default=None, help="repeats a schedule")
    parser.add_argument("--job", choices=sorted({job for job, _ in MEDIA}), default="machine")
    parser.add_argument("--medium", choices=sorted({m for _, m in MEDIA}), default="files")
    parser.add_argument("--mode", choices=sorted(MODES), default="micro-batch")
    parser.add_argument("--keep", action="store_true", help="keep files and logs")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="headrace-chaos-"))
    _print(
        f"seed {seed}, {options.seconds:.0f} s, {options.job}, {options.mode}, files in {folder}"
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and so end what was started
    code = 1
    try:
        medium = MEDIA[options.job, options.medium]
        code = run(folder, seed, options.seconds, medium, options.mode)
    finally:
        if code == 0 and not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            _print(f"files and logs stay in {folder}")
    return code


if __name__ == "__main__":
    sys.exit(main())
