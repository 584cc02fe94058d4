"""When a task of a batch job may start; kept for programs that name it."""

from __future__ import annotations

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """Whether a task needs any or all of its inputs. headrace runs all tasks of a batch at once."""

    ANY = 0
    ALL = 1
