"""Under PyFlink's path; written in api/functions/retrying.py"""

from __future__ import annotations

from headrace.api.functions.retrying import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)

__all__ = [
    "empty_result_predicate",
    "exception_type_predicate",
    "has_exception_predicate",
]
