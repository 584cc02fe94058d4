"""Python twins of what Flink's tests have in Java: functions and a module, by the same names.

In: texts.  Out: texts.  Next: java.py puts them into statements
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.table import DataTypes
from headrace.table.module import Module
from headrace.table.udf import udf

if TYPE_CHECKING:
    from collections.abc import Mapping

LowerUDF = udf(lambda text: None if text is None else text.lower(), result_type=DataTypes.STRING())
UpperUDF = udf(lambda text: None if text is None else text.upper(), result_type=DataTypes.STRING())
TestScalaFunction = udf(lambda number: number, result_type=DataTypes.BIGINT())


class DummyModule(Module):
    """Has no functions, as Flink's."""

    def __init__(self, options: Mapping[str, str]) -> None:
        del options
