"""Types survive the way through JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from headrace.common.type_inference import infer_type
from headrace.common.type_json import from_json, to_json, type_text
from headrace.common.typeinfo import (
    BasicType,
    ClassTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    TypeInformation,
    Types,
)
from headrace.errors import StateError


@dataclass
class Order:
    number: int
    item: str


class Point(NamedTuple):
    x: float
    y: float


ALL = [
    *(getattr(Types, basic.name)() for basic in BasicType),
    Types.SQL_DATE(),
    Types.SQL_TIME(),
    Types.SQL_TIMESTAMP(),
    Types.TIMESTAMP_LTZ(),
    Types.PICKLED_BYTE_ARRAY(),
    *map(LocalTimeTypeInfo, LocalTimeTypeInfo.TimeType),
    Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Types.BASIC_ARRAY(Types.STRING()),
    Types.OBJECT_ARRAY(Types.ROW([Types.INT()])),
    Types.LIST(Types.LIST(Types.DOUBLE())),
    Types.MAP(Types.STRING(), Types.MAP(Types.LONG(), Types.BOOLEAN())),
    Types.TUPLE([Types.STRING(), Types.TUPLE([])]),
    Types.ROW([]),
    Types.ROW([Types.INT(), Types.STRING()]),
    Types.ROW_NAMED(["row", "class"], [Types.INT(), Types.LIST(Types.FLOAT())]),
    ExternalTypeInfo(Types.ROW([Types.INT()])),
    infer_type(Order),
    infer_type(Point),
]


@pytest.mark.parametrize("type_info", ALL, ids=str)
def test_every_type_comes_back(type_info: TypeInformation) -> None:
    again = from_json(json.loads(json.dumps(to_json(type_info))))
    assert again == type_info
    assert type(again) is type(type_info)
    if isinstance(type_info, RowTypeInfo):
        assert isinstance(again, RowTypeInfo)
        assert again.is_named == type_info.is_named
        assert again.get_field_names() == type_info.get_field_names()
    if isinstance(type_info, ClassTypeInfo):
        assert again.record_class is type_info.record_class  # type: ignore[attr-defined]
    assert type_text(to_json(type_info))


def test_the_forms_are_those_that_stored_state_has() -> None:
    assert to_json(Types.TUPLE([Types.STRING(), Types.LONG()])) == {"tuple": ["string", "long"]}
    assert to_json(Types.ROW_NAMED(["a"], [Types.INT()])) == {"row": ["int"], "names": ["a"]}
    order = infer_type(Order)
    assert order is not None
    assert to_json(order) == {
        "class": f"{__name__}:Order",
        "flavour": "dataclass",
        "types": ["long", "string"],
        "names": ["number", "item"],
    }


def test_what_is_not_known_is_an_error() -> None:
    with pytest.raises(StateError, match="not known"):
        from_json("quaternion")
    with pytest.raises(StateError, match="not known"):
        from_json({"quaternion": "long"})
    gone = {"class": "nowhere:Gone", "flavour": "dataclass", "types": [], "names": []}
    with pytest.raises(StateError, match="Gone of module nowhere"):
        from_json(gone)
    with pytest.raises(StateError, match="cannot be recorded"):
        to_json(TypeInformation())
