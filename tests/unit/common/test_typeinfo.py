"""Types compare, hash, print and refuse as PyFlink's do."""

from __future__ import annotations

import pickle

import pytest

from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.errors import InvalidArgumentError

PRINTED: list[tuple[TypeInformation, str]] = [
    (Types.STRING(), "String"),
    (Types.BYTE(), "Byte"),
    (Types.BOOLEAN(), "Boolean"),
    (Types.SHORT(), "Short"),
    (Types.INT(), "Integer"),
    (Types.LONG(), "Long"),
    (Types.FLOAT(), "Float"),
    (Types.DOUBLE(), "Double"),
    (Types.CHAR(), "Char"),
    (Types.BIG_INT(), "BigInteger"),
    (Types.BIG_DEC(), "BigDecimal"),
    (Types.INSTANT(), "Instant"),
    (Types.SQL_DATE(), "DateTypeInfo"),
    (Types.SQL_TIME(), "TimeTypeInfo"),
    (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
    (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
    (Types.ROW([Types.INT(), Types.STRING()]), "RowTypeInfo(Integer, String)"),
    (
        Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]),
        "RowTypeInfo(a: Integer, b: String)",
    ),
    (Types.TUPLE([Types.INT(), Types.STRING()]), "TupleTypeInfo(Integer, String)"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), "PrimitiveArrayTypeInfo<Integer>"),
    (Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
    (Types.OBJECT_ARRAY(Types.SQL_DATE()), "ObjectArrayTypeInfo<DateTypeInfo>"),
    (Types.MAP(Types.STRING(), Types.INT()), "MapTypeInfo<String, Integer>"),
    (Types.LIST(Types.INT()), "ListTypeInfo<Integer>"),
]


@pytest.mark.parametrize(("kind", "text"), PRINTED, ids=[text for _, text in PRINTED])
def test_types_print_compare_hash_and_pickle(kind: TypeInformation, text: str) -> None:
    assert repr(kind) == str(kind) == text
    again = pickle.loads(pickle.dumps(kind))
    assert again == kind
    assert hash(again) == hash(kind)
    others = [other for other, name in PRINTED if name != text and "Row" not in name]
    assert kind not in others


def test_row_equality_looks_at_types_and_schema_equality_at_names() -> None:
    a = Types.ROW_NAMED(["a"], [Types.INT()])
    b = Types.ROW_NAMED(["b"], [Types.INT()])
    assert a == b
    assert hash(a) == hash(b)
    assert not a.schema_equals(b)
    assert a.schema_equals(Types.ROW_NAMED(["a"], [Types.INT()]))


def test_row_fields() -> None:
    row = Types.ROW([Types.INT(), Types.STRING()])
    assert isinstance(row, RowTypeInfo)
    assert row.get_field_names() == ["f0", "f1"]
    assert row.get_field_types() == [Types.INT(), Types.STRING()]
    assert row.get_field_index("f0") == -1
    named = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert named.get_field_index("b") == 1


def test_mistakes_are_refused_with_a_fix() -> None:
    with pytest.raises(InvalidArgumentError, match=r"Types.INT\(\), not Types.INT"):
        Types.TUPLE([Types.INT])  # type: ignore[list-item]
    with pytest.raises(InvalidArgumentError, match="2 field types but 1 field names"):
        Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()])
    with pytest.raises(InvalidArgumentError, match="more than once"):
        Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()])
    with pytest.raises(InvalidArgumentError, match="PRIMITIVE_ARRAY"):
        Types.PRIMITIVE_ARRAY(Types.STRING())
