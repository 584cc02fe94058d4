"""Programs that were built and never executed: a forgotten `env.execute()`.

In: every environment, as it is made.  Out: the steps that nobody executed, explained or let go of
at a prompt.  `headrace run` fails for them (cli/run.py); plain Python is warned as it ends.
Next: graph/stream_graph.py (`left_out`)
"""

from __future__ import annotations

import atexit
import logging
import sys
import weakref
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.errors import UnexecutedProgramError

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment
    from headrace.graph.stream_graph import StreamGraph

log = logging.getLogger(__name__)

_MOST_NAMED = 5
_environments: weakref.WeakSet[StreamExecutionEnvironment] = weakref.WeakSet()
# of environments that are gone, such as the local variable of a main(); a process of many
# environments (tests) remembers the last ones only
_dropped: deque[str] = deque(maxlen=100)


def watch(env: StreamExecutionEnvironment) -> None:
    """Remembers what an environment leaves unexecuted."""
    _environments.add(env)
    # the graph knows nothing of its environment, so that this keeps nothing alive
    weakref.finalize(env, _note_dropped, env._graph).atexit = False


def _note_dropped(graph: StreamGraph) -> None:
    _dropped.extend(_texts(graph))


def _texts(graph: StreamGraph) -> list[str]:
    return [f"{step.name} at {step.call_site}" for step in graph.left_out()]


def take_unexecuted() -> UnexecutedProgramError | None:
    """The error for what this process has built and not executed; None if there is nothing."""
    found = [*_dropped, *(text for env in list(_environments) for text in _texts(env._graph))]
    _dropped.clear()
    for env in list(_environments):
        env._graph.note_looked_at()
    if not found:
        return None
    more = "" if len(found) <= _MOST_NAMED else f", and {len(found) - _MOST_NAMED} more"
    return UnexecutedProgramError(
        "the program has ended, and these steps were never executed: "
        f"{'; '.join(found[:_MOST_NAMED])}{more}",
        fix="end the program with env.execute(); steps whose records nobody takes need a sink "
        "before it, such as stream.print()",
    )


def _warn_at_exit() -> None:
    """For programs that plain Python runs, and that have not failed anyway."""
    if getattr(sys, "last_value", None) is not None:
        return
    error = take_unexecuted()
    if error is not None:
        log.warning("%s", error)


def _is_a_script() -> bool:
    """Whether this process runs a file of the user's, and no prompt, notebook, tool or tests."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    if file is None or hasattr(sys, "ps1") or sys.flags.interactive:
        return False
    path = Path(file).absolute()
    of_a_tool = any(path.is_relative_to(place) for place in (sys.prefix, sys.base_prefix))
    return not of_a_tool and "site-packages" not in path.parts


# Asked while the program runs: as it ends, Python has forgotten what it ran.
if _is_a_script():
    atexit.register(_warn_at_exit)
