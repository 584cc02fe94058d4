"""Runs the queries of TPC-DS and prints what passes, what fails, why, and how long it took.

    FLINK_SRC=~/flink python -m tpcds.report [--streaming] [--seconds 120] [query] ...

In: ``FLINK_SRC``.  Out: a table; the exit code is 1 if more fail than `MAY_FAIL`.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
import time
import warnings
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from flink_programs.checkout import Checkout
from headrace.errors import PlanError
from tpcds.comparing import difference
from tpcds.data import tables
from tpcds.engines import duckdb_on, found, headrace_on, wanted
from tpcds.flink_texts import queries, schemas

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

    from tpcds.comparing import Answer
    from tpcds.flink_texts import Schemas

MAY_FAIL = 5
PASS, FAIL, REFUSED = "pass", "FAIL", "refused"


class Run(NamedTuple):
    """What queries are run on."""

    folder: Path
    schemas: Schemas
    streaming: bool


class Outcome(NamedTuple):
    """What became of a query."""

    word: str
    seconds: float
    note: str


def judge(run: Run, text: str, limit_s: float) -> Outcome:
    """One query, in a process of its own, which ends when its time is over."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(theirs, run, text))
    process.start()
    theirs.close()
    try:
        if ours.poll(limit_s):
            outcome: Outcome = ours.recv()
            return outcome
        return Outcome(FAIL, limit_s, "it took too long")
    except EOFError:
        return Outcome(FAIL, 0.0, "its process died")
    finally:
        process.kill()
        process.join()


def _run(answers: Connection, run: Run, text: str) -> None:
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    t_env = headrace_on(run.folder, run.schemas, streaming=run.streaming)
    started = time.monotonic()
    try:
        lines = found(t_env, text)
        seconds = time.monotonic() - started
        answer = wanted(duckdb_on(run.folder, run.schemas), text)
    except Exception as error:
        word = REFUSED if run.streaming and isinstance(error, PlanError) else FAIL
        note = f"{type(error).__name__}: {error}"
        answers.send(Outcome(word, time.monotonic() - started, note))
        return
    if run.streaming and not lines and is_of_nothing(answer):
        answers.send(Outcome(PASS, seconds, "no line: Flink's streams have none for no input"))
        return
    wrong = difference(answer, lines)
    answers.send(Outcome(FAIL if wrong else PASS, seconds, wrong or f"{len(lines)} lines"))


def is_of_nothing(answer: Answer) -> bool:
    """Whether the answer is one line of aggregates that had nothing to aggregate."""
    return len(answer.lines) == 1 and not any(answer.lines[0])


def main(words: list[str]) -> int:
    """Prints the report."""
    parser = argparse.ArgumentParser(prog="tpcds.report")
    parser.add_argument("--streaming", action="store_true", help="in streaming mode")
    parser.add_argument("--seconds", type=float, default=120, help="that a query may take")
    parser.add_argument("query", nargs="*", help="such as 14a; all if there is none")
    options = parser.parse_args(words)
    source = os.environ.get("FLINK_SRC")
    if not source:
        print("FLINK_SRC must name a checkout of apache/flink", file=sys.stderr)
        return 2
    checkout = Checkout(source)
    kinds = schemas(checkout)
    run = Run(tables(kinds), kinds, options.streaming)
    counts: Counter[str] = Counter()
    for name, text in queries(checkout).items():
        if not options.query or name in options.query:
            outcome = judge(run, text, options.seconds)
            counts[outcome.word] += 1
            note = " ".join(outcome.note.split())[:300]
            print(f"{name:>4}  {outcome.word:7} {outcome.seconds:7.1f} s  {note}", flush=True)
    print(f"\n{sum(counts.values())} queries: " + ", ".join(f"{n} {w}" for w, n in counts.items()))
    return 0 if counts[FAIL] <= MAY_FAIL else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
