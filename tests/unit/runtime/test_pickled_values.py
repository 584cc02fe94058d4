"""A savepoint of a stranger cannot run what it likes."""

from __future__ import annotations

import collections
import datetime
import fractions
import os
import pickle
import subprocess
import uuid
from typing import Any

import numpy as np
import pytest

from headrace.errors import StateError
from headrace.runtime.savepoint.pickled import load_pickle
from headrace.runtime.savepoint.portable import decode, encode


class Basket:
    """Neither a dataclass nor a named tuple."""

    def __init__(self, items: list[str]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Basket) and self.items == other.items

    __hash__ = None  # type: ignore[assignment]


class Slotted:
    __slots__ = ("x",)

    def __init__(self, x: int) -> None:
        self.x = x


def _made(x: int) -> Slotted:
    return Slotted(x)


class WithFactory(Slotted):
    __slots__ = ()

    def __reduce__(self) -> Any:
        return _made, (self.x,)


@pytest.mark.parametrize(
    "value",
    [
        Basket(["a", "b"]),
        fractions.Fraction(1, 3),
        uuid.UUID(int=7),
        collections.OrderedDict(a=1),
        collections.deque([1, 2], 3),
        complex(1, 2),
        datetime.timezone(datetime.timedelta(hours=1)),
    ],
)
def test_values_of_users_come_back(value: object) -> None:
    assert decode(encode(value)) == value


def test_arrays_slots_and_factories_of_the_program_come_back() -> None:
    array = decode(encode(np.arange(6).reshape(2, 3)))
    assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert decode(encode(np.float64(1.5))) == 1.5
    assert decode(encode(Slotted(4))).x == 4
    assert decode(encode(WithFactory(5))).x == 5


class Evil:
    def __init__(self, call: Any, *arguments: Any) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> Any:
        return self.call, self.arguments


@pytest.mark.parametrize(
    "evil",
    [
        Evil(os.system, "true"),
        Evil(subprocess.Popen, ["true"]),
        Evil(eval, "1"),
        Evil(getattr, "x", "upper"),
        Evil(pickle.loads, b"."),
        Evil(np.load, "/etc/passwd"),
    ],
)  # fmt: skip
def test_what_runs_code_is_refused(evil: Evil) -> None:
    content = pickle.dumps(evil)
    with pytest.raises(StateError, match="must not call"):
        load_pickle(content)


def test_a_module_of_the_program_is_no_way_around() -> None:
    content = pickle.dumps(Basket([])).replace(b"Basket", b"subprocess.Popen"[:6])
    with pytest.raises((StateError, AttributeError)):
        load_pickle(content)
    by_attribute = (
        b"\x80\x04\x8c"
        + bytes([len(__name__)])
        + __name__.encode()
        + b"\x8c\x10subprocess.Popen\x93."
    )
    with pytest.raises(StateError, match="must not call"):
        load_pickle(by_attribute)
