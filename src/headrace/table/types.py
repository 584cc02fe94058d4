"""The Table API's types, as far as the formats of the DataStream API take them.

In: ``DataTypes.INT()``.  Out: a type with ``to_type_info()``.
Next: formats/csv_reader.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.typeinfo import TypeInformation, Types
from headrace.errors import InvalidArgumentError
from headrace.missing import missing_attribute

__all__ = ["DataType", "DataTypes", "DecimalType"]


@dataclass(frozen=True)
class DataType:
    """A type of the Table API.

    Attributes:
        name: as SQL writes it.
        type_info: the DataStream API's type for the same values.
    """

    name: str
    type_info: TypeInformation

    def to_type_info(self) -> TypeInformation:
        """The DataStream API's type for the same values. Ours."""
        return self.type_info

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class DecimalType(DataType):
    """Decimal numbers of a fixed number of digits; others are rounded to them."""

    precision: int
    scale: int


class DataTypes:
    """Makes types.

    Example:
        >>> DataTypes.ARRAY(DataTypes.INT()).to_type_info()
        ListTypeInfo(Int)
    """

    @staticmethod
    def BOOLEAN() -> DataType:
        """True or false."""
        return DataType("BOOLEAN", Types.BOOLEAN())

    @staticmethod
    def TINYINT() -> DataType:
        """Whole numbers of one byte."""
        return DataType("TINYINT", Types.BYTE())

    @staticmethod
    def SMALLINT() -> DataType:
        """Whole numbers of two bytes."""
        return DataType("SMALLINT", Types.SHORT())

    @staticmethod
    def INT() -> DataType:
        """Whole numbers of four bytes."""
        return DataType("INT", Types.INT())

    @staticmethod
    def BIGINT() -> DataType:
        """Whole numbers of eight bytes."""
        return DataType("BIGINT", Types.LONG())

    @staticmethod
    def FLOAT() -> DataType:
        """Numbers of four bytes."""
        return DataType("FLOAT", Types.FLOAT())

    @staticmethod
    def DOUBLE() -> DataType:
        """Numbers of eight bytes."""
        return DataType("DOUBLE", Types.DOUBLE())

    @staticmethod
    def DECIMAL(precision: int, scale: int) -> DecimalType:
        """Decimal numbers.

        Args:
            precision: the number of digits, 1 to 38.
            scale: how many of them come after the point.
        """
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise InvalidArgumentError(
                f"there is no DECIMAL({precision}, {scale})",
                fix="a decimal has 1 to 38 digits, and at most that many after the point",
            )
        return DecimalType(f"DECIMAL({precision}, {scale})", Types.BIG_DEC(), precision, scale)

    @staticmethod
    def STRING() -> DataType:
        """Text."""
        return DataType("STRING", Types.STRING())

    @staticmethod
    def BYTES() -> DataType:
        """Bytes."""
        return DataType("BYTES", Types.PRIMITIVE_ARRAY(Types.BYTE()))

    @staticmethod
    def DATE() -> DataType:
        """Days."""
        return DataType("DATE", Types.SQL_DATE())

    @staticmethod
    def ARRAY(element_type: DataType) -> DataType:
        """Lists."""
        return DataType(f"ARRAY<{element_type}>", Types.LIST(element_type.to_type_info()))


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
