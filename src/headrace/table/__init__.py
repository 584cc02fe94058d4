"""The Table API is not there yet; its types are, for the formats of the DataStream API."""

from __future__ import annotations

from typing import Any

from headrace.missing import missing_attribute
from headrace.table.types import DataTypes

__all__ = ["DataTypes"]


def __getattr__(name: str) -> Any:
    return missing_attribute(__name__, name)
