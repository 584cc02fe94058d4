"""The name and type of a side output.

In: ``yield tag, value`` in a process function.  Out: ``stream.get_side_output(tag)``.
"""

from __future__ import annotations

from typing import Any

from headrace.common.type_inference import infer_type
from headrace.common.typeinfo import RowTypeInfo, TypeInformation, Types
from headrace.errors import InvalidArgumentError

__all__ = ["OutputTag"]


class OutputTag:
    """Names a side output. Two tags of one name are the same output.

    Args:
        tag_id: the name, not empty.
        type_info: the type of the records: a type, a list of types (a row), or a type hint.
            Pickled if None.
    """

    def __init__(
        self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | Any | None = None
    ) -> None:
        if not tag_id:
            raise InvalidArgumentError(
                f"an OutputTag needs a name, not {tag_id!r}", fix="OutputTag('late', Types.…())"
            )
        self.tag_id = tag_id
        self.type_info: TypeInformation
        if type_info is None:
            self.type_info = Types.PICKLED_BYTE_ARRAY()
        elif isinstance(type_info, list):
            self.type_info = RowTypeInfo(type_info)
        else:
            self.type_info = infer_type(type_info) or Types.PICKLED_BYTE_ARRAY()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        return hash((OutputTag, self.tag_id))

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r}, {self.type_info})"
