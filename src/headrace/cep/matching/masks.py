"""What lines say about the terms of an automaton, many lines at a time.

    term    A: true         bit of "holds"              a prefilter that is the whole condition
            B: true so far  bit of "the match decides"  a prefilter, and more behind it
            C: not true     no bit

In: lines, and the conditions that look at a line alone.  Out: a mask for each (cep/automaton.py).
Next: cep/matching/operator.py
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.cep.matching.patterns import LineCondition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from headrace.cep.automaton import Automaton
    from headrace.runtime.table.lines import Lines
    from headrace.scalars.evaluate import Condition

    Line = tuple[Any, ...]

# of fewer lines each is asked alone: what a kernel costs a call is some lines' worth
_FEW_LINES = 16
# masks are numbers of 64 bits, and a term has two; larger ones are Python's
_MOST_TERMS = 31


class LineMasks:
    """Makes masks.

    Args:
        automaton: whose terms are asked.
        prefilters: by variable, what looks at a line alone.
    """

    def __init__(self, automaton: Automaton, prefilters: Mapping[str, Condition]) -> None:
        self._automaton = automaton
        self._prefilters = prefilters

    def of_lines(self, lines: Lines) -> NDArray[np.int64]:
        """The mask of each line of a batch."""
        kind = np.int64 if len(self._automaton.terms) <= _MOST_TERMS else object
        if len(lines) >= _FEW_LINES and kind is np.int64:
            # an expression may fail for a line that no variable meets: then each is asked alone
            with suppress(Exception):
                return self._by_kernel(lines)
        return np.array(self.of_rows(lines.rows()), dtype=kind)

    def of_rows(self, rows: Sequence[Line]) -> list[int]:
        """The masks of single lines."""
        return [self._automaton.mask(row) for row in rows]

    def _by_kernel(self, lines: Lines) -> NDArray[np.int64]:
        batch = lines.batch()
        terms = self._automaton.terms
        true = {name: _true(each, batch) for name, each in self._prefilters.items()}
        masks = np.zeros(len(lines), dtype=np.int64)
        for term in terms:
            condition = term.condition
            if not isinstance(condition, LineCondition):  # a variable without a condition
                masks |= np.int64(1 << term.number)
                continue
            unknown = len(terms) if condition.is_iterative else 0
            bit = np.int64(1 << (unknown + term.number))
            chosen = true.get(condition.variable)
            masks |= bit if chosen is None else np.where(chosen, bit, np.int64(0))
        return masks


def _true(condition: Condition, batch: pa.RecordBatch) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = condition.mask(batch).to_numpy(zero_copy_only=False)
    return found
