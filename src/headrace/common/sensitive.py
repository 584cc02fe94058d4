"""Which settings are secrets, by their keys and by their form: shown as asterisks to everybody.

In: settings as text.  Out: the same, with what nobody should read masked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.common.opaque import OptionValue

__all__ = ["HIDDEN", "is_sensitive", "masked"]

HIDDEN = "******"
# Flink's list, and what connectors of ours have
_WORDS = (
    "password", "passwd", "secret", "token", "credential", "apikey", "api-key", "api_key",
    "access-key", "access_key", "access.key", "account.key", "private-key", "private_key",
    "private.key", "service-key", "auth-params", "basic-auth", "jaas.config", "http-headers",
    "sasl.jaas",
)  # fmt: skip
# names and passwords within an address
_IN_ADDRESS = re.compile(r"(?<=://)[^/@\s:]+:[^/@\s]+(?=@)")
# password=... within a list of settings
_IN_TEXT = re.compile(r"(?i)\b(\w*(?:password|passwd|secret|token)\w*)(\s*[=:]\s*)[^\s,;&\"']+")


def is_sensitive(key: str) -> bool:
    """Whether the value of a key is nobody's business."""
    lowered = key.lower()
    return any(word in lowered for word in _WORDS)


def masked(settings: Mapping[str, OptionValue]) -> dict[str, str]:
    """Settings as text, for everybody to read."""
    return {
        key: HIDDEN if is_sensitive(key) else masked_text(str(value))
        for key, value in settings.items()
    }


def masked_text(text: str) -> str:
    """A text without the passwords that stand in it."""
    return _IN_TEXT.sub(rf"\1\2{HIDDEN}", _IN_ADDRESS.sub(f"{HIDDEN}:{HIDDEN}", text))
