"""The options of a session, by name and by methods.

In: the user's program, SET statements.  Out: options that the planner and the job read.
Next: common/options.py says which there are
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headrace.common.configuration import Configuration, effective_configuration
from headrace.common.time import to_millis
from headrace.errors import ArgumentTypeError
from headrace.scalars.session import zone_named
from headrace.table.sql_dialect import SqlDialect

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TableConfig"]

_DIALECTS = {"default": SqlDialect.DEFAULT, "hive": SqlDialect.HIVE}
_TIME_ZONE, _DIALECT = "table.local-time-zone", "table.sql-dialect"
_RETENTION, _CODE_LENGTH = "table.exec.state.ttl", "table.generated-code.max-length"


class TableConfig:
    """The options of a session.

    Args:
        configuration: where they are kept; a new one by default.
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def get(self, key: str, default_value: str) -> str:
        """An option as text: as it was set here, by a variable, or in the file."""
        return self._effective().get_string(key, default_value)

    def _effective(self) -> Configuration:
        """What counts: what workers get is what is seen here, too."""
        return effective_configuration(self._configuration)

    def set(self, key: str, value: str) -> TableConfig:
        """Set an option."""
        self._configuration.set_string(key, str(value))
        return self

    def get_local_timezone(self) -> str:
        """The zone in which TIMESTAMP_LTZ is shown; that of this machine by default."""
        zone = self._effective().get_string(_TIME_ZONE, "default")
        return local_zone() if zone == "default" else zone

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the zone: a name such as ``Europe/Berlin``, or an offset such as ``GMT+01:00``."""
        if not isinstance(timezone_id, str):
            raise ArgumentTypeError(f"a time zone is text, not {timezone_id!r}")
        zone_named(timezone_id)
        self.set(_TIME_ZONE, timezone_id)

    def get_max_generated_code_length(self) -> int:
        """Accepted and without effect: headrace generates no code."""
        return self._effective().get_integer(_CODE_LENGTH, 4000)

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Accepted and without effect: headrace generates no code."""
        if not isinstance(max_generated_code_length, int):
            raise ArgumentTypeError(f"a length is a number, not {max_generated_code_length!r}")
        self.set(_CODE_LENGTH, str(max_generated_code_length))

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """How long state is kept that nobody asks for."""
        self.set(_RETENTION, f"{to_millis(duration)} ms")

    def get_idle_state_retention(self) -> datetime.timedelta:
        """How long state is kept that nobody asks for; 0 is for ever."""
        kept = self.get(_RETENTION, "0 ms")
        return datetime.timedelta(milliseconds=to_millis(kept))

    def get_configuration(self) -> Configuration:
        """All options."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Take over options."""
        self._configuration.add_all(configuration)

    def to_map(self) -> Mapping[str, str]:
        """All options as text."""
        return self._configuration.to_dict()

    def get_sql_dialect(self) -> int:
        """The dialect of SQL."""
        return _DIALECTS[self.get(_DIALECT, "default").lower()]

    def set_sql_dialect(self, sql_dialect: int) -> None:
        """Set the dialect of SQL; statements of Hive's are refused when they are given."""
        names = {value: name for name, value in _DIALECTS.items()}
        if sql_dialect not in names:
            raise ArgumentTypeError(
                f"Unsupported SQL dialect: {sql_dialect}", fix="use SqlDialect.DEFAULT"
            )
        self.set(_DIALECT, names[sql_dialect])

    def set_python_executable(self, python_exec: str) -> None:
        """The interpreter that the workers run."""
        self.set("python.executable", python_exec)

    def get_python_executable(self) -> str | None:
        """The interpreter that the workers run."""
        return self.get("python.executable", "") or None

    @staticmethod
    def get_default() -> TableConfig:
        """A session without options."""
        return TableConfig()


def local_zone() -> str:
    """The zone of this machine by its name; the offset that it has now where there is no name."""
    name = _named_zone()
    if name is not None:
        return "UTC" if name.removeprefix("Etc/") in ("UTC", "UCT", "Zulu") else name
    offset = datetime.datetime.now().astimezone().strftime("%z")
    return f"{offset[:3]}:{offset[3:]}"


def _named_zone() -> str | None:
    """The name in the variable TZ; without it that of the file which /etc/localtime links to."""
    linked = str(Path("/etc/localtime").resolve()).partition("/zoneinfo/")[2]
    name = os.environ.get("TZ", linked).removeprefix(":")
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
