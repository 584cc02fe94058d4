"""Whether headrace's client printed what Flink's does.

In: a `Step` and what was printed.  Out: None, or what differs.  Next: report.py
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, InternalError, SqlError, UnsupportedStepError

if TYPE_CHECKING:
    from flink_scripts.script import Step
    from flink_scripts.session import Printed

# Flink shows the text of a plan or of a CREATE in a cell, headrace as it stands
_TEXT = re.compile(r"\+-+\+\n\| +result \|\n\+-+\+\n\| (.*)\|\n\+-+\+\n1 row in set", re.DOTALL)


def difference(step: Step, printed: Printed) -> str | None:
    """What differs; None if nothing does."""
    if step.tag == "error":
        return _not_refused(step, printed.error)
    if printed.error is not None:
        told = str(printed.error).splitlines() or [""]
        return f"{type(printed.error).__name__}: {told[0]}"
    if step.tag == "info":
        return _not_done(step, printed.text)
    expected = _without_frame(step.expected)
    return None if expected == printed.text else f"not as expected:\n{printed.text}"


def _without_frame(expected: str) -> str:
    found = _TEXT.fullmatch(expected)
    if found is None or "\n" not in found[1]:
        return expected
    return "\n".join(line.rstrip() for line in found[1].splitlines()).rstrip("\n")


def _not_done(step: Step, printed: str) -> str | None:
    """Flink's sentence for a statement that is done, and for one whose job has ended."""
    if "Complete execution" in step.expected:
        done = re.match(r"\[INFO\] the job .* is FINISHED\n", printed) is not None
    else:
        done = printed == "[INFO] OK"
    return None if done else f"not as expected:\n{printed}"


def _not_refused(step: Step, error: BaseException | None) -> str | None:
    """Messages are not compared: that both refuse is, and when the text is wrong, that it is."""
    if error is None:
        return "ran, and Flink refuses it"
    told = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
    if not isinstance(error, HeadraceError):
        return f"broke, where Flink refuses: {told}"
    if isinstance(error, UnsupportedStepError | InternalError):
        return f"refused, but for a reason that Flink does not have: {told}"
    if "ParseException" in step.expected and not isinstance(error, SqlError):
        return f"refused later than when read: {told}"
    return None
