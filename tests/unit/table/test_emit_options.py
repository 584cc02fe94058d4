"""Options of windows that are not there say so."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigurationError
from headrace.table import EnvironmentSettings, TableEnvironment


@pytest.mark.parametrize("which", ["early", "late"])
def test_windows_that_fire_more_than_once_are_refused(which: str) -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set(f"table.exec.emit.{which}-fire.enabled", "true")
    with pytest.raises(ConfigurationError, match="have one result, when they close"):
        tables.sql_query("SELECT 1").explain()


def test_what_is_done_anyway_can_be_asked_for() -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.execute_sql("SET 'table.exec.emit.early-fire.enabled' = 'false'")
    assert "Values" in tables.sql_query("SELECT 1").explain()
