"""Errors of headrace through processes that hand only text to Spark.

    source process, worker ── carried(error): text with the error inside ──▶ Spark's exception
    driver ◀────────────────── carried_in(its text) ────────────────────────┘

In: an error raised beside the driver.  Out: the same error on the driver, with the user's line.
Next: hosts/spark/sources/python_source.py raises them, hosts/spark/microbatch/query.py opens them
"""

from __future__ import annotations

import base64
import contextlib
import pickle
import re
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError
from headrace.runtime.operators.base import user_code_error

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGIN, _END = "headrace-error<", ">"


class CarriedError(Exception):
    """What Spark sees of an error: its text for people, then the error itself."""


def carried(error: HeadraceError) -> CarriedError:
    """An exception whose text holds the error."""
    content = base64.b64encode(pickle.dumps(error)).decode()
    return CarriedError(f"{error}\n{_BEGIN}{content}{_END}")


def carried_in(text: str) -> HeadraceError | None:
    """The error that a text of Spark's holds; None if it holds none."""
    found = re.search(rf"{_BEGIN}([A-Za-z0-9+/=]+){_END}", text)
    if found is None:
        return None
    try:
        error = pickle.loads(base64.b64decode(found.group(1)))
    except Exception:  # cut off on its way: then Spark's text is all there is
        return None
    return error if isinstance(error, HeadraceError) else None


@contextlib.contextmanager
def carrying(what: str) -> Iterator[None]:
    """Around a call of user code in a process of Spark's.

    Args:
        what: was called, for the message.
    """
    try:
        yield
    except CarriedError:
        raise
    except HeadraceError as error:
        raise carried(error) from None
    except Exception as error:
        raise carried(user_code_error(error, what, None)) from None
