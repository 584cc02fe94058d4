"""What an expression becomes in a worker: parts that compute columns, or one line.

    Call ── kernel ──▶ whole columns           no kernel ──▶ line by line, for this part only
    AND, OR, CASE, COALESCE ──▶ scalars/lazy_parts.py: what is not needed is not computed

In: scalars/compile.py.  Out: arrays and values.  Next: scalars/lazy_parts.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from headrace.data.columns import Unfit
from headrace.errors import EvaluationError, HeadraceError
from headrace.scalars.functions.entry import NoKernelError
from headrace.scalars.values import arrow_column, arrow_scalar, arrow_type, python_value
from headrace.scalars.values import python_values as values_of_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.common.data_types import DataType
    from headrace.scalars.frames import ColumnFrame
    from headrace.scalars.functions.entry import ArrowBody, RowBody

    RowFunction = Callable[[Sequence[Any]], Any]

Datum: TypeAlias = Any  # an array, or a scalar: pyarrow has no types that mypy knows

# From here on it pays to look for equal texts: less than 0.1 us a line, a Python call takes 1 us.
MANY_LINES = 1_000
# What a kernel raises that cannot do a batch, or that found a line without a result.
KERNEL_ERRORS = (NoKernelError, pa.ArrowInvalid, pa.ArrowNotImplementedError, OverflowError)


class Part(ABC):
    """A piece of an expression.

    Attributes:
        type: of its values.
        vectorised: whether it and all in it have kernels.
    """

    type: DataType
    vectorised: bool

    @abstractmethod
    def datum(self, frame: ColumnFrame) -> Datum:
        """Its values for all lines: an array, or a scalar if they are all the same."""

    @abstractmethod
    def row(self) -> RowFunction:
        """Makes the function of one line: a sequence of Python values."""

    def array(self, frame: ColumnFrame) -> pa.Array:
        """Its values for all lines as an array."""
        found = self.datum(frame)
        return pa.repeat(found, frame.length) if isinstance(found, pa.Scalar) else found

    def values(self, frame: ColumnFrame) -> list[Any]:
        """Its values for all lines as Python values."""
        found = self.datum(frame)
        if isinstance(found, pa.Scalar):
            return [python_value(found, self.type)] * frame.length
        return values_of_column(found, self.type)


class RefPart(Part):
    """A column."""

    vectorised = True

    def __init__(self, index: int, type_: DataType) -> None:
        self.index = index
        self.type = type_

    def datum(self, frame: ColumnFrame) -> Datum:
        """See Part."""
        return frame.typed_column(self.index, self.type)

    def values(self, frame: ColumnFrame) -> list[Any]:
        """See Part."""
        return frame.values(self.index, self.type)

    def row(self) -> RowFunction:
        """See Part."""
        index = self.index
        return lambda line: line[index]


class ConstantPart(Part):
    """A literal."""

    vectorised = True

    def __init__(self, value: Any, type_: DataType) -> None:
        self.value = value
        self.type = type_
        self._scalar = arrow_scalar(value, type_)

    def datum(self, frame: ColumnFrame) -> Datum:
        """See Part."""
        return self._scalar

    def values(self, frame: ColumnFrame) -> list[Any]:
        """See Part."""
        return [self.value] * frame.length

    def row(self) -> RowFunction:
        """See Part."""
        value = self.value
        return lambda _: value


class CallPart(Part):
    """A function with its arguments; a cast is one, too."""

    def __init__(
        self,
        title: str,
        arguments: list[Part],
        type_: DataType,
        *,
        body: RowBody,
        kernel: ArrowBody | None,
        strict: bool,
        deterministic: bool = True,
    ) -> None:
        self.title = title
        self.arguments = arguments
        self.type = type_
        varying = [part for part in arguments if not isinstance(part, ConstantPart)]
        # the only argument that is no constant: equal texts in it give equal results
        self._text = varying[0] if len(varying) == 1 and deterministic else None
        self.vectorised = kernel is not None and all(part.vectorised for part in arguments)
        self._arrow = arrow_type(type_)
        self._body = body
        self._kernel = kernel
        self._strict = strict

    def datum(self, frame: ColumnFrame) -> Datum:
        """See Part."""
        if self._kernel is None:
            return self._looped(frame)
        arguments = [part.datum(frame) for part in self.arguments]
        try:
            found = self._kernel(*arguments)
            return found if found.type == self._arrow else found.cast(self._arrow)
        except KERNEL_ERRORS:
            return self._looped(frame)

    def values(self, frame: ColumnFrame) -> list[Any]:
        """See Part."""
        return self._loop(frame) if self._kernel is None else super().values(frame)

    def _looped(self, frame: ColumnFrame) -> pa.Array:
        if self._text is not None and frame.length >= MANY_LINES:
            texts = self._text.datum(frame)
            if isinstance(texts, pa.StringArray):
                return self._once_a_text(texts, self._text)
        return self._as_column(self._loop(frame))

    def _once_a_text(self, texts: pa.StringArray, text: Part) -> pa.Array:
        """Each text is looked at once: a column of texts often has few of them."""
        coded = texts.dictionary_encode(null_encoding="encode")
        few = values_of_column(coded.dictionary, text.type)
        columns = [
            [part.value] * len(few) if isinstance(part, ConstantPart) else few
            for part in self.arguments
        ]
        return self._as_column(self._run(columns)).take(coded.indices)

    def _as_column(self, found: list[Any]) -> pa.Array:
        try:
            return arrow_column(found, self.type)
        except (pa.ArrowException, OverflowError, Unfit) as error:
            message = f"{self.title} gave a value that is no {self.type.nullable()}: {error}"
            raise EvaluationError(message) from error

    def _loop(self, frame: ColumnFrame) -> list[Any]:
        """The reference body, line by line."""
        if self.arguments:
            return self._run([part.values(frame) for part in self.arguments])
        try:
            return [self._body() for _ in range(frame.length)]
        except Exception as error:
            raise no_result(self.title, (), error) from error

    def _run(self, columns: list[list[Any]]) -> list[Any]:
        body = self._body
        found: list[Any] = []
        add = found.append
        values: tuple[Any, ...] = ()
        try:
            if self._strict and len(columns) == 1:
                for value in columns[0]:
                    values = (value,)
                    add(None if value is None else body(value))
            elif self._strict and len(columns) == 2:
                for values in zip(*columns, strict=True):
                    one, other = values
                    add(None if one is None or other is None else body(one, other))
            elif self._strict:
                for values in zip(*columns, strict=True):
                    add(None if any(v is None for v in values) else body(*values))
            else:
                for values in zip(*columns, strict=True):
                    add(body(*values))
        except Exception as error:
            raise no_result(self.title, values, error) from error
        return found

    def row(self) -> RowFunction:
        """See Part."""
        arguments = [part.row() for part in self.arguments]
        body, title, strict = self._body, self.title, self._strict

        def run(line: Sequence[Any]) -> Any:
            values = [argument(line) for argument in arguments]
            if strict and any(value is None for value in values):
                return None
            try:
                return body(*values)
            except Exception as error:
                raise no_result(title, tuple(values), error) from error

        return run


class OncePart(Part):
    """A part that looks at the clock: one answer for all lines of a batch."""

    vectorised = True

    def __init__(self, part: Part) -> None:
        self.part = part
        self.type = part.type
        self._row = part.row()

    def datum(self, frame: ColumnFrame) -> Datum:
        """See Part."""
        return arrow_scalar(self._row(()), self.type)

    def row(self) -> RowFunction:
        """See Part."""
        return self._row


class SharedPart(Part):
    """A part that stands in several places of a projection: computed once for a frame."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.type = part.type
        self.vectorised = part.vectorised

    def datum(self, frame: ColumnFrame) -> Datum:
        """See Part."""
        key = id(self)
        if key not in frame.made:
            frame.made[key] = self.part.datum(frame)
        return frame.made[key]

    def row(self) -> RowFunction:
        """See Part."""
        return self.part.row()


def no_result(title: str, values: tuple[Any, ...], error: Exception) -> HeadraceError:
    """The error of a call that has no result, with its values."""
    if isinstance(error, HeadraceError):
        return error
    shown = ", ".join(_preview(value) for value in values)
    message = f"{title} has no result for ({shown}): {str(error) or type(error).__name__}"
    lenient = title.startswith("CAST")
    fix = "TRY_CAST gives NULL where a value cannot be cast" if lenient else None
    return EvaluationError(message, fix=fix)


def _preview(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
