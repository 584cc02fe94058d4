"""Schemas: what a subclass overrides is what connectors use, also for many records at once."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from headrace.common.serialization import SimpleStringSchema


def test_a_subclass_that_overrides_one_record_is_asked_for_many_as_well() -> None:
    """Sinks and sources ask for many at once; what the subclass says must not be passed by."""

    class Loud(SimpleStringSchema):
        def serialize(self, element: Any) -> bytes:
            return super().serialize(element).upper()

        def deserialize(self, message: bytes) -> str:
            return super().deserialize(message).upper()

    assert Loud().serialize_many(["a", "b"]) == [b"A", b"B"]
    assert Loud().deserialize_columns(pa.array([b"a"], pa.binary())) is None
    assert SimpleStringSchema().deserialize_columns(pa.array([b"a"], pa.binary())) is not None
