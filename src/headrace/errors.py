"""Every error a user of headrace can see, as one tree.

HeadraceError              base: message, where, fix, condition; survives pickling
├── ProgramError           the user's program is wrong
│   ├── EmptyProgramError, DuplicateUidError, MissingUidError, UndeclaredTypeError
│   ├── UnexecutedProgramError steps without an execute()
│   ├── UnserializableFunctionError, InvalidArgumentError
│   │   └── ArgumentTypeError  an argument of a type that the call cannot use
│   └── ConfigurationError unknown or malformed option
├── PlanError              correct, but cannot be planned
│   └── UnsupportedStepError   names the alternative
├── SqlError               a statement is wrong: line, column, the text with the place underlined
│   └── SqlParseError      it is not written as Flink's SQL is
├── UserFunctionError      user code raised in a worker; original as __cause__
├── RecordError            a record that does not fit
│   ├── TypeMismatchError  not of the declared type
│   │   └── UnserializableRecordError  it, or a value of state, cannot be written as bytes
│   ├── BadMessageError    bytes from outside that the source's schema cannot read
│   ├── KeyTypeError       not usable as a key
│   └── EvaluationError    a function of SQL has no result for it
├── StateError             schema change, savepoint mismatch, corrupt page, misuse of state
│   └── CheckpointMismatchError    the checkpoint is of another job, or of another program
├── ConnectorError         the outside world: missing file, refused connection, failing sink
├── JobError               illegal transition, Spark failed under the job
│   ├── JobNotFoundError   no job, or several, with this id or name
│   ├── JobNameInUseError  a running job has the name
│   ├── CheckpointLockedError  another driver runs on the checkpoint directory
│   ├── NotLeaderError     asked of a dispatcher that does not lead
│   └── NotDoneYetError    it was asked for and goes on, but not within the time to wait
├── EnvironmentSetupError  Java or Spark is missing or of the wrong version
└── InternalError          our bug: what to attach to a report

An error has three parts, kept apart until it is printed: what went wrong, where in the user's
program, how to fix it.  Errors of workers travel home as messages: control/job.py reads them.
"""

from __future__ import annotations

import linecache
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from types import FrameType

__all__ = [
    "ArgumentTypeError",
    "BadMessageError",
    "CheckpointLockedError",
    "CheckpointMismatchError",
    "ConfigurationError",
    "ConnectorError",
    "DuplicateUidError",
    "EmptyProgramError",
    "EnvironmentSetupError",
    "EvaluationError",
    "HeadraceError",
    "InternalError",
    "InvalidArgumentError",
    "JobError",
    "JobNameInUseError",
    "JobNotFoundError",
    "KeyTypeError",
    "MissingUidError",
    "NotDoneYetError",
    "NotLeaderError",
    "PlanError",
    "ProgramError",
    "RecordError",
    "SavepointError",
    "SqlError",
    "SqlParseError",
    "StateError",
    "TypeMismatchError",
    "UndeclaredTypeError",
    "UnexecutedProgramError",
    "UnserializableFunctionError",
    "UnserializableRecordError",
    "UnsupportedStepError",
    "UserFunctionError",
]


_PACKAGE = str(Path(__file__).resolve().parent) + "/"
_LONGEST_LINE = 100
# A frame of a traceback, and the line of code below it if there is one.
_FRAME = re.compile(r'^ *File "(.*)", line (\d+), in (.*)(?:\n(?! *File ") *(.*))?', re.MULTILINE)
# Below a frame of these no program is being built: a worker, a local run, a thread, a command.
_NO_PROGRAM = (f"{_PACKAGE}testing/", f"{_PACKAGE}hosts/", sysconfig.get_path("stdlib"), "<frozen")


def line_of_code(file: str, number: int) -> str:
    """A line of a program as errors quote it: its beginning, if it is long."""
    text = linecache.getline(file, number).strip()
    return text if len(text) <= _LONGEST_LINE else f"{text[: _LONGEST_LINE - 3].rstrip()}..."


def _line_of_program() -> str | None:
    """The line of the user's program that led here; None where no program is being built."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name, number = frame.f_code.co_filename, frame.f_lineno
        if name.startswith(_PACKAGE) and not name.startswith(_NO_PROGRAM):
            frame = frame.f_back
        elif name.startswith(_NO_PROGRAM) or "/site-packages/" in name:
            return None
        else:
            return f"{Path(name).name}:{number} {line_of_code(name, number)}".rstrip()
    return None


class HeadraceError(Exception):
    """Base of all errors that headrace raises on purpose.

    Args:
        message: what went wrong, with the value and its type.
        where: the place in the user's program, such as ``pipeline.py:31 .process(Dedup())``.
        fix: what the user can do about it.
    """

    # whether a call of the user's program is at fault, so that its line answers "where"
    _at_users_line = False

    def __init__(self, message: str, *, where: object = None, fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if where is None and self._at_users_line:
            where = _line_of_program()
        self.where = None if where is None else str(where)
        self.fix = fix

    @property
    def condition(self) -> str:
        """The error's stable name, such as ``DUPLICATE_UID``: for tests, REST and searches."""
        name = type(self).__name__.removesuffix("Error")
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()

    def _lines(self) -> list[str]:
        lines = [f"[{self.condition}] {self.message}"]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.fix:
            lines.append(f"  fix:   {self.fix}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _render_traceback_(self) -> list[str]:
        """What IPython shows of it: the lines of the program that led here, and the error.

        Frames of headrace and of IPython say nothing about a mistake in a cell.
        """
        lines = []
        for file, number, name, _ in traceback.extract_tb(self.__traceback__):
            if not file.startswith((_PACKAGE, *_NO_PROGRAM)) and "/site-packages/" not in file:
                lines += [f'  File "{file}", line {number}, in {name}']
                lines += [f"    {line_of_code(file, number or 0)}"]
        return [*lines, *str(self).splitlines()]

    def __reduce__(self) -> tuple[object, ...]:
        # The default would rebuild from args alone and lose the keyword-only parts.
        state = {k: v for k, v in self.__dict__.items() if k != "message"}
        return _rebuild, (type(self), self.message, state)


def _rebuild(cls: type[HeadraceError], message: str, state: dict[str, object]) -> HeadraceError:
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.message = message
    error.__dict__.update(state)
    return error


class ProgramError(HeadraceError, ValueError):
    """The user's program is wrong; found before anything runs."""

    _at_users_line = True


class EmptyProgramError(ProgramError):
    """There is nothing to execute: no sink was added."""


class UnexecutedProgramError(ProgramError):
    """A program has built steps and ended without executing them."""

    _at_users_line = False


class DuplicateUidError(ProgramError):
    """Two steps carry one uid, so their state could not be distinguished."""


class MissingUidError(ProgramError):
    """A step has no uid, and the program has switched generated ones off."""


class UndeclaredTypeError(ProgramError):
    """Records would be pickled, and the program has switched that off."""


class UnserializableFunctionError(ProgramError):
    """A function holds something that cannot be sent to a worker."""


class InvalidArgumentError(ProgramError):
    """An argument of an API call is not usable."""


class ArgumentTypeError(InvalidArgumentError, TypeError):
    """An argument of an API call is of a type that the call cannot use."""


class ConfigurationError(ProgramError):
    """An option is unknown or its value cannot be read."""


class PlanError(HeadraceError):
    """The program is correct, but cannot be planned."""


class UnsupportedStepError(PlanError):
    """A part of Flink's API that headrace does not have; the fix names the alternative."""

    _at_users_line = True


class PlaceInText(Protocol):
    """A place in the text of a statement: headrace.sql.ast.TextPosition."""

    @property
    def line(self) -> int:
        """Counted from 1."""

    @property
    def column(self) -> int:
        """Counted from 1."""

    def underlined(self) -> str:
        """The line of the text, and below it a mark under the place."""


class SqlError(HeadraceError, ValueError):
    """A statement is wrong, or asks for what cannot be done.

    Args:
        position: the place in the statement's text (of any node of its syntax tree).

    Attributes:
        line: of the place, counted from 1; None if it is not known.
        column: of the place, counted from 1.
        text: the line of the statement with the place underlined.
    """

    line: int | None = None
    column: int | None = None
    text: str = ""

    def __init__(
        self,
        message: str,
        *,
        position: PlaceInText | None = None,
        where: object = None,
        fix: str | None = None,
    ) -> None:
        if position is not None:
            self.line, self.column, self.text = (
                position.line,
                position.column,
                position.underlined(),
            )
            where = where or f"line {self.line}, column {self.column}"
        super().__init__(message, where=where, fix=fix)

    def _lines(self) -> list[str]:
        lines = super()._lines()
        shown = [f"    {line}" for line in self.text.splitlines()]
        at = 2 if self.where else 1
        return [*lines[:at], *shown, *lines[at:]]


class SqlParseError(SqlError):
    """A statement is not written as Flink's SQL is."""


class RecordError(HeadraceError):
    """A record does not fit the step that received it."""


class TypeMismatchError(RecordError, TypeError):
    """A record is not of the type its stream declares."""


class UnserializableRecordError(TypeMismatchError):
    """A record, or a value of state, holds an object that cannot be written as bytes."""


class BadMessageError(RecordError, ValueError):
    """A message from outside cannot be read by the schema of its source."""


class KeyTypeError(RecordError, TypeError):
    """A key selector returned something that cannot be a key."""


class EvaluationError(RecordError, ValueError):
    """A function or cast of SQL has no result for a record: it names both, and the values."""


class UserFunctionError(HeadraceError):
    """User code raised in a worker. The original exception is ``__cause__`` where it could travel.

    Attributes:
        step: name of the operator.
        uid: its uid.
        record: a short preview of the record it was given.
        original: the type and text of the original exception.
        user_traceback: the frames of the user's code, innermost last.
        machine: where it was raised, as ``host:pid``; empty on the driver.
    """

    step: str = ""
    uid: str = ""
    record: str | None = None
    original: str = ""
    user_traceback: str = ""
    machine: str = ""

    @property
    def raised_at(self) -> str | None:
        """Where the user's code raised, such as ``pipeline.py:10 in parse``."""
        frame = self._innermost_frame()
        return None if frame is None else f"{Path(frame[0]).name}:{frame[1]} in {frame[2]}"

    @property
    def code(self) -> str | None:
        """The line there."""
        frame = self._innermost_frame()
        return None if frame is None else frame[3] or None

    def _innermost_frame(self) -> tuple[str, str, str, str] | None:
        """File, line, function, code."""
        frames: list[tuple[str, str, str, str]] = _FRAME.findall(self.user_traceback)
        return frames[-1] if frames else None

    def _lines(self) -> list[str]:
        what, *rest = super()._lines()
        record = [f"  given: {self.record}"] if self.record else []
        frames = [self.user_traceback.rstrip()] if self.user_traceback else []
        return [what, *record, *rest, *frames]


class StateError(HeadraceError):
    """State cannot be read, written or restored as asked."""


class CheckpointMismatchError(StateError):
    """A checkpoint belongs to another job, or to a program that this one no longer fits."""


class SavepointError(StateError):
    """A savepoint is not there, is broken, or does not fit the program."""


class ConnectorError(HeadraceError):
    """The outside world did not do what a source or sink needs."""


class JobError(HeadraceError):
    """A job cannot do what was asked of it, or failed for a reason outside the user's code."""


class JobNotFoundError(JobError):
    """No job has this id or name, or several have."""


class JobNameInUseError(JobError):
    """A running job has the name, and names were asked to be unique."""


class NotLeaderError(JobError):
    """A dispatcher that does not lead was asked; `where` is the address of the leader, if any."""


class NotDoneYetError(JobError):
    """What was asked for goes on; only the time to wait for it has passed."""


class CheckpointLockedError(JobError):
    """Another driver is running on the checkpoint directory."""


class EnvironmentSetupError(HeadraceError):
    """Java or Spark is missing, or of a version that does not work."""


class InternalError(HeadraceError):
    """A defect of headrace itself."""

    def __init__(self, message: str, *, where: object = None, fix: str | None = None) -> None:
        super().__init__(
            message,
            where=where,
            fix=fix
            or "this is a bug in headrace: please report it with this text and the plan "
            "(env.explain())",
        )

    def _render_traceback_(self) -> list[str]:
        """All of it, to be reported."""
        return "".join(traceback.format_exception(self)).splitlines()
