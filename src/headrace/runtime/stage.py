"""What a stage has to run, as data: made by plan/, pickled into every task.

Next: runtime/chain.py joins the operators, runtime/task.py runs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation
    from headrace.runtime.exchange.partition import Partitioning
    from headrace.runtime.key_selectors import Keying
    from headrace.runtime.operators.base import Operator


@dataclass(slots=True)
class OperatorPlan:
    """One operator and what the user said about it."""

    uid: str
    name: str
    where: str
    operator: Operator
    level: int
    parallelism: int
    max_parallelism: int
    keyings: tuple[Keying | None, ...] = ()
    # the step whose records this one gets, for errors that are that step's
    upstream: str = ""
    upstream_where: str = ""
    # whether the type of those records is only a guess
    lenient: bool = False


@dataclass(slots=True)
class EdgePlan:
    """Records from one operator (or source) to an input of another."""

    id: int
    origin: str
    target: str
    input: int
    tag: str | None
    # the level of the stage that reads it; equal to the origin's level where chained
    level: int
    chained: bool
    partitioning: Partitioning
    type_info: TypeInformation
    # how many subtasks may receive, and how many send (0: splits of a source, known as they come)
    parallelism: int
    max_parallelism: int
    channels: int
    # the step that reads it, for errors in keys and partitioners
    target_name: str = ""
    target_where: str = ""
    # the idle timeout of the watermark strategy in front of it
    idle_after_ms: int | None = None
    # a record that does not fit the type is pickled instead of refused: the type is a guess
    lenient: bool = False

    @property
    def name(self) -> str:
        """Tells the edge from others across restarts of a changed program."""
        return f"{self.origin}{f'[{self.tag}]' if self.tag else ''}->{self.target}:{self.input}"


@dataclass(slots=True)
class StagePlan:
    """All operators of a level (at level 0: those fed by one source)."""

    level: int
    slots: int
    uses_time: bool
    # at level 0 the uid of the source whose records this stage reads
    source: str | None
    source_type: TypeInformation | None
    operators: list[OperatorPlan] = field(default_factory=list)
    # edges into or out of these operators, by id
    edges: dict[int, EdgePlan] = field(default_factory=dict)
    job_id: str = ""
    job_name: str = ""
    job_parameters: dict[str, str] = field(default_factory=dict)
    # BATCH mode: how much keyed input a subtask holds in memory while it sorts; None for streaming
    sort_memory_bytes: int | None = None

    @property
    def bounded(self) -> bool:
        """Whether one batch holds the whole input: BATCH mode."""
        return self.sort_memory_bytes is not None
