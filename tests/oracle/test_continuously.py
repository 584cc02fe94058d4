"""Every stored case of every program in continuous mode, without Spark: barriers, lines, segments.

The same tasks run on Spark's streaming shuffle (tests/continuous); here they are threads, so that
all cases take a minute.  What depends on the order of arrival, which no program promises, is
compared as PyFlink's own results are (compare.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Configuration
from oracle import golden, run_headrace
from oracle.catalogue import Case, load
from oracle.compare import Outcome, differences
from oracle.gaps import reason

PROGRAMS = load()
STORED = [entry for name in PROGRAMS for entry in golden.read(name)]


def collect(stream: Any) -> list[Any]:
    """The records of a stream, in threads of this process."""
    settings = Configuration()
    settings.set_string("headrace.execution.host", "local")
    settings.set_string("headrace.execution.mode", "continuous")
    settings.set_string("execution.buffer-timeout.interval", "0 ms")
    stream.get_execution_environment().configure(settings)
    with stream.execute_and_collect() as records:
        return list(records)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        pytest.param(*entry, id=entry[0].id)
        for entry in STORED
        if not reason(entry[0].program, entry[0].id) and not PROGRAMS[entry[0].program].batch
    ],
)
def test_continuous_mode_gives_what_pyflink_gave(case: Case, expected: Outcome) -> None:
    differing = differences(expected, run_headrace.run(PROGRAMS[case.program], case, collect))
    assert not differing, f"input: {case.data!r}\n" + "\n".join(differing)
