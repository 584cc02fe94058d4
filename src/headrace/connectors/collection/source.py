"""A list in the program as a bounded stream.

In: `env.from_collection(list)`.  Out: its records in order.  Next:
hosts/spark/sources/python_source.py
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, ClassVar

from headrace.common.row_data_type import ChangeRowTypeInfo
from headrace.common.typeinfo import RowTypeInfo
from headrace.data.codec import DoesNotFit, codec_for
from headrace.data.record_shapes import row_kinds
from headrace.errors import InvalidArgumentError, TypeMismatchError
from headrace.spi.python_source import PythonSource
from headrace.spi.source import Boundedness

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from headrace.common.typeinfo import TypeInformation

__all__ = ["CollectionSource"]

_CHUNK = 10_000

log = logging.getLogger(__name__)


class CollectionSource(PythonSource):
    """Reads a Python list, in order and with parallelism one, as Flink's collection source does.

    Every element is checked against ``type_info`` here, since the data is at hand: a record that
    does not fit is reported at the line of the program that brought it in. Of an int that is too
    wide for its type the lower bits are taken, as in Flink, and a warning says so.

    Args:
        elements: the records; the source keeps a copy of their encoded form.
        type_info: their type; None means pickled.
        where: the user's call, for the error message.

    Raises:
        TypeMismatchError: an element is not of the declared type.
    """

    reads_on_driver: ClassVar[bool] = True

    def __init__(
        self,
        elements: Sequence[Any],
        type_info: TypeInformation | None = None,
        *,
        where: object = None,
    ) -> None:
        if isinstance(elements, (str, bytes)) or not hasattr(elements, "__len__"):
            raise InvalidArgumentError(
                f"a collection must be a list, got {type(elements).__name__}: {elements!r:.80}",
                where=where,
                fix="wrap it in list(...); for an endless iterator write a PythonSource",
            )
        if isinstance(type_info, RowTypeInfo) and row_kinds(list(elements)) is not None:
            type_info = ChangeRowTypeInfo.of(type_info)
        self._type_info = type_info
        self._count = len(elements)
        self._chunks: list[pa.RecordBatch] = []
        self._records: list[Any] | None = None
        if type_info is None or codec_for(type_info).schema is None:
            self._records = list(elements)
        else:
            self._encode(list(elements), type_info, where)

    def _encode(self, elements: list[Any], type_info: TypeInformation, where: object) -> None:
        codec, wrapping = codec_for(type_info), codec_for(type_info, wraps=True)
        for start in range(0, len(elements), _CHUNK):
            chunk = elements[start : start + _CHUNK]
            try:
                self._chunks.append(codec.encode(chunk))
            except DoesNotFit as misfit:
                first = misfit
            else:
                continue
            try:
                self._chunks.append(wrapping.encode(chunk))
            except DoesNotFit as misfit:
                raise _mismatch(elements, start, misfit, type_info, where) from None
            log.warning(
                "%s; its lower bits are taken, as in Flink, also of others that do not fit",
                _misfit_text(start, first),
            )

    def latest_offset(self, split: str, start: int) -> int:
        """The length of the list."""
        return self._count

    def read(self, split: str, start: int, end: int) -> Iterator[Any]:
        """The elements ``start`` to ``end``, for a collection without a type."""
        assert self._records is not None
        return iter(self._records[start:end])

    def read_columns(self, split: str, start: int, end: int) -> Iterator[pa.RecordBatch] | None:
        """The encoded elements, for a collection with a type."""
        return None if self._records is not None else self._slices(start, end)

    def _slices(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        position = start
        while position < end:
            number, offset = divmod(position, _CHUNK)
            piece = self._chunks[number].slice(offset, end - position)
            yield piece
            position += piece.num_rows

    def first_records(self) -> list[Any]:
        """The first element of a collection without a type, as a list of one; else nothing."""
        return (self._records or [])[:1]

    def produced_type(self) -> TypeInformation:
        """The declared type, else pickled."""
        return self._type_info if self._type_info is not None else super().produced_type()

    def boundedness(self) -> Boundedness:
        """A list ends."""
        return Boundedness.BOUNDED

    def describe(self) -> str:
        """``CollectionSource(3 elements)``."""
        return f"CollectionSource({self._count} elements)"


def _mismatch(
    elements: list[Any], start: int, misfit: DoesNotFit, type_info: TypeInformation, where: object
) -> TypeMismatchError:
    return TypeMismatchError(
        f"{_misfit_text(start, misfit)}; "
        f"the whole element: {elements[start + misfit.index]!r:.120}",
        where=where,
        fix=f"correct the element, or declare a type other than type_info={type_info}",
    )


def _misfit_text(start: int, misfit: DoesNotFit) -> str:
    part = f", field {misfit.field!r}" if misfit.field else ""
    return (
        f"element {start + misfit.index} of the collection{part} is {misfit.value!r} "
        f"({type(misfit.value).__name__}), which does not fit {misfit.expected}"
    )
