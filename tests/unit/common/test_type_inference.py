"""Hints become types only where records come back unchanged."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Generator, Iterable, Iterator  # noqa: TC003  (read at run time)
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Optional, TypedDict

import pytest

from headrace.common.type_inference import infer_type, return_type_of
from headrace.common.typeinfo import ClassTypeInfo, Types

UserId = NewType("UserId", int)


class Pair(NamedTuple):
    left: int
    right: Any


@dataclass
class Node:
    value: int
    next: Optional[Node]  # noqa: UP045


class Partial(TypedDict):
    a: int
    b: NotRequired[str]


CASES: list[tuple[Any, str | None]] = [
    (int, "Long"),
    (float, "Double"),
    (str, "String"),
    (bool, "Boolean"),
    (bytes, "PrimitiveArrayTypeInfo<Byte>"),
    (Decimal, "BigDecimal"),
    (dt.date, "DateTypeInfo"),
    (dt.datetime, "TimestampTypeInfo"),
    (dt.time, "TimeTypeInfo"),
    (tuple[int, str], "TupleTypeInfo(Long, String)"),
    (tuple[int, ...], None),
    (tuple, None),
    (list[int], "ListTypeInfo<Long>"),
    (list, None),
    (dict[str, int], "MapTypeInfo<String, Long>"),
    (dict[str | None, int], None),
    (dict[Any, int], None),
    (int | None, "Long"),
    (Optional[str], "String"),  # noqa: UP045
    (int | str, None),
    (Any, None),
    (object, None),
    (None, None),
    (set[int], None),
    (UserId, "Long"),
    (Literal["a", "b"], "String"),
    (Literal["a", 1], None),
    (Annotated[int, "doc"], "Long"),
    (Annotated[int, Types.BYTE()], "Byte"),
    (Types.SHORT(), "Short"),
    (tuple[int, Any], "TupleTypeInfo(Long, PickledByteArrayTypeInfo)"),
    (Pair, "Pair(left: Long, right: PickledByteArrayTypeInfo)"),
    (Node, "Node(value: Long, next: PickledByteArrayTypeInfo)"),
    (Partial, None),
]


@pytest.mark.parametrize(("hint", "text"), CASES, ids=[str(hint) for hint, _ in CASES])
def test_hints(hint: Any, text: str | None) -> None:
    kind = infer_type(hint)
    assert (None if kind is None else repr(kind)) == text


def test_classes_are_remembered() -> None:
    kind = infer_type(Pair)
    assert isinstance(kind, ClassTypeInfo)
    assert kind.record_class is Pair
    assert kind != Types.ROW_NAMED(["left", "right"], kind.get_field_types())


def double(value: int) -> int:
    return 2 * value


def words(line: str) -> Iterator[str]:
    yield from line.split()


def pairs(line: str) -> Generator[tuple[str, int], None, None]:
    yield line, 1


def maybe(line: str) -> list[int] | None:
    return [len(line)]


def unknown(value: int) -> Missing:  # type: ignore[name-defined]  # noqa: F821
    return value


class Doubler:
    def map(self, value: int) -> float:
        return 2.0 * value


class Both:
    def map1(self, value: int) -> int:
        return value

    def map2(self, value: str) -> str:
        return value


class Alike:
    def flat_map1(self, value: int) -> Iterable[int]:
        yield value

    def flat_map2(self, value: str) -> Iterable[int]:
        yield len(value)


class Callable_:
    def __call__(self, value: int) -> str:
        return str(value)


def test_return_types() -> None:
    assert return_type_of(double) == Types.LONG()
    assert return_type_of(lambda value: value) is None
    assert return_type_of(unknown) is None
    assert return_type_of(words, elements=True) == Types.STRING()
    assert return_type_of(pairs, elements=True) == Types.TUPLE([Types.STRING(), Types.LONG()])
    assert return_type_of(maybe, elements=True) == Types.LONG()
    assert return_type_of(double, elements=True) is None
    assert return_type_of(Doubler()) == Types.DOUBLE()
    assert return_type_of(Doubler(), "map") == Types.DOUBLE()
    assert return_type_of(Doubler(), "filter") is None
    assert return_type_of(Both()) is None
    assert return_type_of(Both(), "map2") == Types.STRING()
    assert return_type_of(Alike(), elements=True) == Types.LONG()
    assert return_type_of(Callable_()) == Types.STRING()
    assert return_type_of(functools.partial(double, 1)) == Types.LONG()
    assert return_type_of(len) is None
    assert return_type_of(str) is None
    assert return_type_of(int) is None
