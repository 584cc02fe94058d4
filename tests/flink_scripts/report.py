"""Reads all scripts of a checkout, runs them, and prints what passes, what fails and why.

    FLINK_SRC=~/flink python -m flink_scripts.report [part of a script's name] ...

In: ``FLINK_SRC``.  Out: a report; the exit code is 1 if fewer statements pass than passes.txt says.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from flink_programs.checkout import Checkout
from flink_scripts import java
from flink_scripts.compare import difference
from flink_scripts.script import steps_of
from flink_scripts.session import VARIABLES, Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flink_scripts.script import Step

SCRIPTS = "flink-table/flink-sql-client/src/test/resources/sql"
PASSES = Path(__file__).parent / "passes.txt"
PASS, FAIL, JVM = "pass", "fail", "needs the JVM"


@dataclass(frozen=True)
class Outcome:
    """How a statement ended: a word, and the reason for people."""

    step: Step
    word: str
    reason: str = ""


def outcomes(text: str) -> Iterator[Outcome]:
    """Runs a script in a session of its own, with folders of its own."""
    with tempfile.TemporaryDirectory(prefix="flink-scripts-") as folder:
        folders = {f"$VAR_{each}_PATH": f"{folder}/{each}" for each in ("STREAMING", "BATCH")}
        for name, value in {**VARIABLES, **folders}.items():
            text = text.replace(name, value)
        session = Session()
        try:
            for step in steps_of(text):
                yield _outcome(session, step)
        finally:
            session.close()


def _outcome(session: Session, step: Step) -> Outcome:
    needs_jvm = java.reason(step.statement, step.expected)
    if java.is_about_jars(step.statement):
        return Outcome(step, JVM, needs_jvm or "")
    differs = difference(step, session.run(java.with_twins(step.statement)))
    if needs_jvm is not None:
        return Outcome(step, JVM, needs_jvm)
    return Outcome(step, PASS) if differs is None else Outcome(step, FAIL, differs)


def main(filters: list[str]) -> int:
    """Prints the report."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    source = os.environ.get("FLINK_SRC")
    if not source:
        print("FLINK_SRC must name a checkout of apache/flink", file=sys.stderr)
        return 2
    os.environ["HEADRACE_HEADRACE_EXECUTION_HOST"] = "local"
    checkout, counts = Checkout(source), {}
    for path in checkout.files(SCRIPTS, ".q"):
        name = Path(path).stem
        if not filters or any(each in name for each in filters):
            counts[name] = _run(name, checkout.text(path))
    return _summary(counts, guarded=not filters)


def _run(name: str, text: str) -> Counter[str]:
    words: Counter[str] = Counter()
    for outcome in outcomes(text):
        words[outcome.word] += 1
        first = outcome.step.statement.splitlines()[0]
        print(f"{outcome.word:13} {name}.q:{outcome.step.line}  {first}", flush=True)
        if outcome.reason:
            print(f"{'':14}{outcome.reason}"[:2000].replace("\n", f"\n{'':14}"))
    return words


def _summary(counts: dict[str, Counter[str]], *, guarded: bool) -> int:
    words = (PASS, FAIL, JVM)
    print(f"\n{'script':18}" + "".join(f"{word:>15}" for word in words))
    for name, each in counts.items():
        print(f"{name:18}" + "".join(f"{each[word]:15}" for word in words))
    total = sum(counts.values(), Counter[str]())
    tried = total[PASS] + total[FAIL]
    print(f"{'all':18}" + "".join(f"{total[word]:15}" for word in words))
    print(f"\n{total[PASS]} of {tried} statements pass ({total[PASS] / max(tried, 1):.1%})")
    return _guard(total[PASS]) if guarded else 0


def _guard(passed: int) -> int:
    known = int(PASSES.read_text())
    if passed > known:
        print(f"more than the {known} in {PASSES.name}: write {passed} there")
    if passed < known:
        print(f"fewer than the {known} in {PASSES.name}", file=sys.stderr)
    return 1 if passed < known else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
