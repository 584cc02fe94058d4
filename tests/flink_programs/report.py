"""Reads all programs of a checkout, runs them, and prints what passes, what fails and why.

    FLINK_SRC=~/flink python -m flink_programs.report [part of an id or of a file] ...

In: ``FLINK_SRC``.  Out: a report; the exit code is 1 if less than 85 % of those in scope pass.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections import Counter
from typing import TYPE_CHECKING

from flink_programs.checkout import Checkout
from flink_programs.java_syntax import read_class
from flink_programs.java_values import Values
from flink_programs.runner import FAIL, OUTSIDE, PASS, UNREAD, Outcome, judge
from flink_programs.scope import BY_FILE, by_name
from flink_programs.steps import Program

if TYPE_CHECKING:
    from collections.abc import Iterator

BAR = 0.85


def programs(checkout: Checkout) -> Iterator[tuple[str, str, Program | Outcome]]:
    """File, name and program; an `Outcome` for one that cannot be read."""
    batch = checkout.only_in_batch_mode()
    for path in checkout.program_files():
        values = Values(read_class(checkout.text(path)), checkout)
        file = values.java_class.name
        for name in values.java_class.fields:
            try:
                found = values.field(name)
            except Exception as error:
                why = BY_FILE.get(file) or by_name(name)
                outcome = Outcome(UNREAD, str(error)) if why is None else Outcome(OUTSIDE, why)
                yield file, name, outcome
                continue
            if isinstance(found, Program):
                found.__dict__.update(file=file, batch=(file, name) in batch)
                yield file, found.id, found


def main(filters: list[str]) -> int:
    """Prints the report."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    source = os.environ.get("FLINK_SRC")
    if not source:
        print("FLINK_SRC must name a checkout of apache/flink", file=sys.stderr)
        return 2
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for file, name, found in programs(Checkout(source)):
        if filters and not any(each in f"{file} {name}" for each in filters):
            continue
        outcome = found if isinstance(found, Outcome) else judge(found)
        counts[outcome.word] += 1
        if outcome.word == OUTSIDE:
            reasons[outcome.reason] += 1
        elif outcome.word != PASS or filters:
            print(f"{outcome.word}: {file} {name}\n    {outcome.reason[:600]}", flush=True)
    return _summary(counts, reasons)


def _summary(counts: Counter[str], reasons: Counter[str]) -> int:
    print("\nNot in the issue:")
    for reason, number in reasons.most_common():
        print(f"  {number:4d}  {reason}")
    tried = counts[PASS] + counts[FAIL] + counts[UNREAD]
    share = counts[PASS] / tried if tried else 1.0
    print(
        f"\n{sum(counts.values())} programs, {counts[OUTSIDE]} not in the issue; of {tried}: "
        f"{counts[PASS]} pass ({share:.1%}), {counts[FAIL]} fail, {counts[UNREAD]} not read"
    )
    return 0 if share >= BAR else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
