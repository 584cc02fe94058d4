"""What a program is made of: steps, and edges that say how records get from one to the next.

In: calls on a DataStream.  Out: Step and Edge objects in graph/stream_graph.py.
A step holds its *operator*: an unopened, picklable object of runtime/operators that a worker will
open and run, just as Flink's transformations hold operator factories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.call_site import CallSite
    from headrace.common.opaque import ColumnLike, Key, Record
    from headrace.common.typeinfo import TypeInformation
    from headrace.runtime.exchange.partition import Partitioning
    from headrace.runtime.operators.base import Operator
    from headrace.spi.source import Source


@dataclass(slots=True, eq=False)
class Edge:
    """Records of `origin` (its main output, or the side output `tag`) reach an input of a step."""

    origin: Step
    partitioning: Partitioning
    tag: str | None = None
    input: int = 0
    # the type of the records on this edge: the origin's, or the side output's
    type_info: TypeInformation | None = None

    @property
    def record_type(self) -> TypeInformation:
        """The type of what travels here."""
        return self.type_info if self.type_info is not None else self.origin.output_type


@dataclass(slots=True, eq=False)
class Step:
    """One operator of the program, with all that the user said about it."""

    id: int
    kind: str
    name: str
    output_type: TypeInformation
    call_site: CallSite
    inputs: list[Edge] = field(default_factory=list)
    operator: Operator | None = None
    source: Source | None = None
    native: NativeStep | None = None
    # how the output type follows from that of the input, which may be known only when planned
    derive_type: Callable[[TypeInformation], TypeInformation] | None = None
    # what a host found for an output type that was not known when the program was built
    learned_type: TypeInformation | None = None
    # the output type was only inferred: a record that does not fit is pickled, not refused
    inferred: bool = False
    uid: str | None = None
    # made by headrace within a call for another step: the program has no hold of it to name it
    inner: bool = False
    # inner steps that take their uid from this one's, such as a source in front of its decoder
    parts: list[Step] = field(default_factory=list)
    parallelism: int | None = None
    max_parallelism: int | None = None
    description: str | None = None
    # the key selector of each input, where the stream is keyed
    key_selectors: tuple[Callable[[Record], Key] | None, ...] = ()

    @property
    def stable_id(self) -> str:
        """The name under which this step keeps state: its uid, or its place in the program."""
        return self.uid if self.uid is not None else f"step-{self.id}"

    @property
    def is_sink(self) -> bool:
        """Whether records end here: in a sink, or as the DataFrame that a program asked for."""
        return self.kind in ("sink", "dataframe")

    @property
    def is_source(self) -> bool:
        """Whether records start here."""
        return self.kind == "source"


class NativeKind(StrEnum):
    """What Catalyst does with the expressions of a step."""

    FILTER = "filter"
    SELECT = "select"
    STAMP = "stamp"

    @property
    def makes_a_type(self) -> bool:
        """Whether its records are new ones, whose type the host's analyser knows."""
        return self is NativeKind.SELECT


@dataclass(frozen=True, slots=True)
class NativeStep:
    """A step that Catalyst can run: column expressions given where a function is expected.

    `expressions` are headrace expressions or pyspark Columns; hosts/spark/native/steps.py applies
    them.
    """

    kind: NativeKind
    expressions: tuple[ColumnLike, ...]
