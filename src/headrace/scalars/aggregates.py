"""What an aggregate call is: a function by name, and the columns of the input that it reads.

In: rel/.  Out: calls that the operators of runtime/table compute.
Next: runtime/table/accumulators.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.common.data_types import DataType


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate of a query.

    Attributes:
        function: its SQL name, such as ``SUM``; COUNT without arguments counts lines.
        arguments: the places of the columns it reads; constants were made columns before.
        type: of the result.
        distinct: whether equal arguments count once.
        filter: the place of a BOOLEAN column: only lines where it is true count.
        user: the object that `udaf` or `udtaf` made, for functions of the user.
        options: what else its call said, such as the separator of LISTAGG.
    """

    function: str
    arguments: tuple[int, ...]
    type: DataType
    distinct: bool = False
    filter: int | None = None
    user: Any = None
    options: tuple[Any, ...] = ()
