"""Refuses values that are not of a state's declared type, where the user's code puts them in.

A look at the Python type of each value is all that every update can afford (18 ns).  The first
value of each Python type is looked at in depth, and so are some values of every batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.data.codec import DoesNotFit, codec_for
from headrace.errors import StateError

if TYPE_CHECKING:
    from headrace.common.typeinfo import TypeInformation

LOOKED_AT = 200  # values of a state after each batch


class Fitting:
    """The Python types whose values fit a declared type, as far as some were seen.

    Attributes:
        kinds: these types; None if any value fits.
    """

    def __init__(self, state: str, part: str, type_info: TypeInformation) -> None:
        self._state = state
        self._part = part
        self._codec = codec_for(type_info)
        self.kinds: set[type] | None = None if self._codec.schema is None else set()

    def look(self, values: list[Any]) -> None:
        """Look at values in depth, and remember their Python types.

        Raises:
            StateError: for one that does not fit.
        """
        if self.kinds is None:
            return
        try:
            self._codec.encode(values)
        except DoesNotFit as misfit:
            where = f" in field {misfit.field!r}" if misfit.field else ""
            raise StateError(
                f"state {self._state!r} was given the {self._part} {values[misfit.index]!r:.200}: "
                f"{misfit.value!r:.100}{where} is of type {type(misfit.value).__name__}, where "
                f"{misfit.expected} is declared",
                fix="give it values of the declared type, or declare their type in its descriptor; "
                "Types.PICKLED_BYTE_ARRAY() takes any value",
            ) from None
        self.kinds.update(map(type, values))
