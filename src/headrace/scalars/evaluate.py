"""Runs expressions over batches, or line by line.

    Evaluator(node).run(batch)       an array
    Projector(nodes).run(batch)      an array each; what they have in common is computed once
    Condition(node).mask(batch)      where it is true
    row_function(node)(line)         a value, for operators that look at one line at a time

They are made in the driver, pickled, and opened in workers; compiling happens there.

In: nodes (scalars/nodes.py) and batches.  Out: arrays and values.  Next: scalars/compile.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from headrace.scalars.compile import Compiler, fold_constants
from headrace.scalars.frames import ColumnFrame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.scalars.nodes import Scalar
    from headrace.scalars.parts import Part, RowFunction
    from headrace.scalars.session import ScalarSession
    from headrace.scalars.user_parts import UserPart

__all__ = ["Condition", "Evaluator", "Projector", "fold_constants", "row_function"]


class Projector:
    """Several expressions over the same columns.

    Args:
        nodes: what to compute.
        session: of the query.
    """

    def __init__(self, nodes: Sequence[Scalar], session: ScalarSession) -> None:
        self.nodes = tuple(nodes)
        self.session = session
        self._parts: list[Part] | None = None  # rebuilt on open
        self._users: list[UserPart] = []

    def open(self, context: Any = None) -> None:
        """Compiles, and opens the user's functions.

        Args:
            context: what functions get in their `open`; None before there is a task.
        """
        folded = [fold_constants(node, self.session) for node in self.nodes]
        compiler = Compiler(self.session, folded)
        self._parts = [compiler.part(node) for node in folded]
        self._users = compiler.user_parts
        for user in self._users:
            user.open(context)

    def run(self, batch: pa.RecordBatch) -> list[pa.Array]:
        """The values of each expression for all lines."""
        frame = ColumnFrame(batch.columns, batch.num_rows)
        return [part.array(frame) for part in self._opened()]

    def row_functions(self) -> list[RowFunction]:
        """A function of one line for each expression; a line is a sequence of Python values."""
        return [part.row() for part in self._opened()]

    def _opened(self) -> list[Part]:
        if self._parts is None:
            self.open()
        assert self._parts is not None
        return self._parts

    def close(self) -> None:
        """Closes the user's functions."""
        for user in self._users:
            user.close()

    def __getstate__(self) -> dict[str, Any]:
        return {"nodes": self.nodes, "session": self.session}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["nodes"], state["session"])  # type: ignore[misc]


class Evaluator(Projector):
    """One expression.

    Args:
        node: what to compute.
        session: of the query.
    """

    def __init__(self, node: Scalar, session: ScalarSession) -> None:
        super().__init__((node,), session)

    def run(self, batch: pa.RecordBatch) -> pa.Array:
        """Its values for all lines."""
        return super().run(batch)[0]

    def row(self) -> RowFunction:
        """The function of one line."""
        return self.row_functions()[0]

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["nodes"][0], state["session"])  # type: ignore[misc]


class Condition(Evaluator):
    """An expression of type BOOLEAN that chooses lines."""

    def mask(self, batch: pa.RecordBatch) -> pa.Array:
        """Where it is true; NULL counts as false."""
        return pc.fill_null(self.run(batch), fill_value=False)

    def filter(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The lines for which it is true."""
        mask = self.mask(batch)
        return batch if mask.false_count == 0 else batch.filter(mask)


def row_function(node: Scalar, session: ScalarSession) -> RowFunction:
    """The function of one line, a sequence of Python values, for operators without columns.

    A condition gives True, False or None.
    """
    return Evaluator(node, session).row()
