"""What is known of a function of the user beside its code: the object that `udf` and its kin made.

    udf(lambda i: i + 1, result_type=BIGINT)   ──▶   UserFunctionDefinition("scalar", function, ..)

In: table/udf.py.  Out: `UserCall.function`, `AggregateCall.user`, `Correlate.function`; it is
pickled with the operator, and workers call ``definition.function``: an object of one of the classes
of api/table/functions.py, which is opened with a FunctionContext before its first line.
Next: api/table/functions.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from headrace.api.table.functions import UserDefinedFunction
    from headrace.common.data_types import DataType

FunctionKind = Literal["scalar", "async_scalar", "table", "aggregate", "table_aggregate"]


@dataclass(frozen=True, eq=False)
class UserFunctionDefinition:
    """A function of the user; two uses of one function hold the same object.

    Attributes:
        kind: what it makes of what.
        name: for plans and messages.
        function: what is opened and called: `eval`, or `create_accumulator`, `accumulate`, ...
        result_type: of what it gives; of table functions a RowType of the columns.
        input_types: what it wants; None if it takes anything.
        accumulator_type: of aggregates.
        deterministic: whether equal arguments give equal results.
        pandas: whether it takes pandas series of many lines at once, and gives one.
        takes_row: whether it takes the whole line as one `Row` (pandas: a DataFrame).
        row_names: the names of that row's fields.
    """

    kind: FunctionKind
    name: str
    function: UserDefinedFunction
    result_type: DataType
    input_types: tuple[DataType, ...] | None = None
    accumulator_type: DataType | None = None
    deterministic: bool = True
    pandas: bool = False
    takes_row: bool = False
    row_names: tuple[str, ...] = ()
