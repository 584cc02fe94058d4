"""The bounds of event time and the name of the main output."""

from __future__ import annotations

__all__ = ["DEFAULT_OUTPUT_TAG", "MAX_LONG_VALUE", "MIN_LONG_VALUE"]

MAX_LONG_VALUE = (1 << 63) - 1
"""The last watermark: no more records."""
MIN_LONG_VALUE = -(1 << 63)
"""No watermark, or no timestamp, yet."""
DEFAULT_OUTPUT_TAG = ""
