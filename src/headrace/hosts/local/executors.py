"""The one process that runs the tasks of local hosts: this one.

Out: ExecutorFacts (spi/host.py).
"""

from __future__ import annotations

import os
import resource
import sys
import time

from headrace.io.processes import here
from headrace.spi.host import ExecutorFacts


def this_executor(slots: int) -> ExecutorFacts:
    """This process, with the most memory that it has had so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return ExecutorFacts(
        id="driver",
        address=here(),
        slots=slots,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        memory_used_bytes=used,
        seen=int(time.time() * 1000),
    )
