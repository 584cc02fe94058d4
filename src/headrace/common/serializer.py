"""How a value of one type is written to bytes: kept for programs that define their own windows."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from io import BytesIO

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes values of one type to a stream and reads them back."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Append the value to the stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """The value at the stream's position."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return type(self).__name__


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """Writes nothing: there is only one value."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        """Write nothing."""

    def deserialize(self, stream: BytesIO) -> bytes:
        """Read nothing."""
        return b""


class PickleTypeSerializer(TypeSerializer[Any]):
    """Any object, as its pickle. Ours."""

    def serialize(self, element: Any, stream: BytesIO) -> None:
        """Append the pickle."""
        pickle.dump(element, stream, 5)

    def deserialize(self, stream: BytesIO) -> Any:
        """The pickled object at the stream's position."""
        return pickle.load(stream)
