"""Which form each aggregate of a query has.

In: an AggregateCall, the types of its input and whether that takes lines back.  Out: its
LineAggregate.  Next: runtime/table/group_aggregate.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.data.row_data import column_of
from headrace.errors import UnsupportedStepError
from headrace.runtime.table.aggregates.distinct import DistinctValues
from headrace.runtime.table.aggregates.extremes import CountedExtreme, InsertedExtreme
from headrace.runtime.table.aggregates.lists import (
    ArrayOfValues,
    InsertedFirst,
    InsertedLast,
    JoinedText,
    JsonArrayOfValues,
    JsonObjectOfValues,
    ListedFirst,
    ListedLast,
    ListedText,
    Multiset,
    SingleValue,
)
from headrace.runtime.table.aggregates.moments import Percentile, Variance
from headrace.runtime.table.aggregates.sums import (
    DecimalAverage,
    DecimalSum,
    FloatAverage,
    FloatSum,
    LineAverage,
    LineCount,
    LineSum,
)
from headrace.runtime.table.aggregates.user import user_aggregate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.data_types import DataType
    from headrace.common.row_data_type import RowDataTypeInfo
    from headrace.data.columns import ColumnCodec
    from headrace.runtime.table.accumulators import LineAggregate
    from headrace.scalars.aggregates import AggregateCall
    from headrace.scalars.session import ScalarSession

# of JSON's aggregates: whether a line without a value leaves a null, or nothing
ABSENT_ON_NULL = "ABSENT"
NULL_ON_NULL = "NULL"
IGNORE_NULLS = "IGNORE NULLS"


class CallForm:
    """What the form of a call depends on.

    Args:
        call: the call.
        types: of all columns of its input.
        retracts: whether its input takes lines back.
    """

    def __init__(self, call: AggregateCall, types: Sequence[DataType], *, retracts: bool) -> None:
        self.call = call
        self.retracts = retracts
        self.result: ColumnCodec = column_of(call.type)
        self.arguments = [column_of(types[place]).arrow for place in call.arguments]
        self.options = call.options


def aggregate_for(
    call: AggregateCall,
    line_type: RowDataTypeInfo,
    *,
    retracts: bool | None = None,
    session: ScalarSession,
) -> LineAggregate:
    """The form of a call.

    Args:
        call: the call.
        line_type: of its input.
        retracts: whether lines may be taken back; None if the type of the input says it.
        session: of the query.

    Raises:
        UnsupportedStepError: there is no such aggregate.
    """
    types, names = line_type.get_data_types(), line_type.get_field_names()
    retracts = line_type.changes if retracts is None else retracts
    form = CallForm(call, types, retracts=retracts)
    if call.user is not None:
        fields = [(names[place], types[place]) for place in call.arguments]
        zone = session.zone
        found: LineAggregate = user_aggregate(
            call.user, call.type, form.result, fields, zone, retracts=retracts
        )
    else:
        name = call.function.upper()
        make = _FORMS.get(name)
        if make is None:
            raise UnsupportedStepError(
                f"the aggregate {call.function} is not known here",
                fix=f"use one of {', '.join(sorted(_FORMS))}, or a function of your own (udaf)",
            )
        found = make(form)
        if name == "APPROX_COUNT_DISTINCT":
            return DistinctValues(found, form.arguments, retracts=retracts)
        if name in ("MIN", "MAX"):
            return found  # equal values change nothing
    return DistinctValues(found, form.arguments, retracts=retracts) if call.distinct else found


def _sum(form: CallForm, *, zero: bool = False) -> LineAggregate:
    kind = form.result.arrow
    if pa.types.is_decimal(kind):
        return DecimalSum(form.result, kind.scale, zero=zero)
    if pa.types.is_floating(kind):
        return FloatSum(form.result, kind.bit_width, zero=zero)
    _check_number(form, kind)
    return LineSum(form.result, kind.bit_width, zero=zero)


def _average(form: CallForm) -> LineAggregate:
    kind = form.arguments[0]
    if pa.types.is_decimal(kind):
        return DecimalAverage(form.result, kind.scale)
    if pa.types.is_floating(kind):
        return FloatAverage(form.result)
    _check_number(form, kind)
    return LineAverage(form.result)


def _check_number(form: CallForm, kind: pa.DataType) -> None:
    if not pa.types.is_integer(kind):
        raise UnsupportedStepError(
            f"{form.call.function} takes numbers, not {kind}", fix="cast the column to a number"
        )


def _extreme(form: CallForm, *, highest: bool) -> LineAggregate:
    if form.retracts:
        return CountedExtreme(form.result, highest=highest)
    return InsertedExtreme(form.result, highest=highest)


def _text(form: CallForm) -> LineAggregate:
    # unless each line has its own, as second argument
    separator = form.options[0] if form.options else ","
    return (ListedText if form.retracts else JoinedText)(form.result, separator)


def _skips(form: CallForm, otherwise: str) -> bool:
    return ABSENT_ON_NULL in (form.options or (otherwise,))


_FORMS: dict[str, Callable[[CallForm], Any]] = {
    "COUNT": lambda form: LineCount(form.result),
    "APPROX_COUNT_DISTINCT": lambda form: LineCount(form.result),
    "SUM": _sum,
    "$SUM0": lambda form: _sum(form, zero=True),
    "AVG": _average,
    "MIN": lambda form: _extreme(form, highest=False),
    "MAX": lambda form: _extreme(form, highest=True),
    "FIRST_VALUE": lambda form: (ListedFirst if form.retracts else InsertedFirst)(form.result),
    "LAST_VALUE": lambda form: (ListedLast if form.retracts else InsertedLast)(form.result),
    "LISTAGG": _text,
    "ARRAY_AGG": lambda form: ArrayOfValues(form.result, skips_null=IGNORE_NULLS in form.options),
    "COLLECT": lambda form: Multiset(form.result),
    "VAR_POP": lambda form: Variance(form.result, sample=False, root=False),
    "VAR_SAMP": lambda form: Variance(form.result, sample=True, root=False),
    "VARIANCE": lambda form: Variance(form.result, sample=True, root=False),
    "STDDEV_POP": lambda form: Variance(form.result, sample=False, root=True),
    "STDDEV_SAMP": lambda form: Variance(form.result, sample=True, root=True),
    "STDDEV": lambda form: Variance(form.result, sample=True, root=True),
    "JSON_OBJECTAGG": lambda form: JsonObjectOfValues(
        form.result, skips_null=_skips(form, NULL_ON_NULL)
    ),
    "JSON_ARRAYAGG": lambda form: JsonArrayOfValues(
        form.result, skips_null=_skips(form, ABSENT_ON_NULL)
    ),
    "SINGLE_VALUE": lambda form: SingleValue(form.result),
    "PERCENTILE": lambda form: Percentile(form.result),
}
