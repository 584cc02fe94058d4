"""What a codec is, and what it says of a record that does not fit its type.

In: lists of records.  Out: pyarrow RecordBatches.  Next: data/codec.py has the codecs, and that of
each type
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.data.columns import Fault, Unfit
from headrace.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.typeinfo import TypeInformation

__all__ = ["FINDINGS", "Codec", "DoesNotFit", "first_misfit"]


class DoesNotFit(Exception):
    """A record is not of the declared type.

    Attributes:
        index: position of the first such record in the list given to ``encode``.
        field: path to the part that does not fit, such as ``user.age`` or ``f1[3]``; empty for the
            record itself.
        value: that part.
        expected: what would fit, in words.
    """

    def __init__(self, index: int, field: str, value: Any, expected: str) -> None:
        super().__init__(index, field, value, expected)
        self.index = index
        self.field = field
        self.value = value
        self.expected = expected

    def __str__(self) -> str:
        place = f"field {self.field!r} is" if self.field else "the record is"
        return (
            f"{place} {_preview(self.value)} of type {type(self.value).__name__}, "
            f"expected {self.expected}"
        )


def _preview(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."


class Codec:
    """Turns lists of records of one type into Arrow batches and back.

    Attributes:
        type_info: the type.
        schema: the columns; None when records of this type have no Arrow form and are pickled.
    """

    schema: pa.Schema | None

    def __init__(self, type_info: TypeInformation) -> None:
        self.type_info = type_info
        self.schema = None

    def encode(self, values: list[Any]) -> pa.RecordBatch:
        """The records as one batch of ``schema``.

        Raises:
            DoesNotFit: for the first record that is not of the type.
        """
        msg = f"records of type {self.type_info} have no Arrow form: pickle them"
        raise InternalError(msg)

    def decode(self, batch: pa.RecordBatch, kinds: bytes | None = None) -> list[Any]:
        """The records of a batch. Columns beyond those of ``schema`` are left alone.

        Args:
            batch: what ``encode`` made, or a batch of the same columns from a source.
            kinds: the change kinds that ``encode_changelog`` gave, if any.
        """
        msg = f"records of type {self.type_info} have no Arrow form: unpickle them"
        raise InternalError(msg)

    def encode_changelog(self, values: list[Any]) -> tuple[pa.RecordBatch, bytes | None]:
        """The batch, and one byte for each row's change kind, or None if all are INSERT."""
        return self.encode(values), None


# What the fast path may raise when a value does not fit; user-defined objects add the last four.
FINDINGS = (
    Unfit,
    pa.ArrowException,
    TypeError,
    ValueError,
    OverflowError,
    AttributeError,
    LookupError,
)


def first_misfit(
    values: list[Any], fault: Callable[[Any], Fault | None], error: Exception
) -> Exception:
    """The error of the first value with a fault."""
    for index, value in enumerate(values):
        found = fault(value)
        if found:
            return DoesNotFit(index, found.field, found.value, found.expected)
    problem = InternalError(f"a batch could not be encoded, yet each record fits: {error!r}")
    problem.__cause__ = error
    return problem
