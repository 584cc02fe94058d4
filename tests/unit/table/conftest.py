"""Table environments on the local host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.types import Row
    from headrace.table import Table, TableResult


def local_options() -> Configuration:
    options = Configuration()
    options.set_string("headrace.execution.host", "local")
    options.set_string("parallelism.default", "1")
    options.set_string("table.local-time-zone", "UTC")
    return options


@pytest.fixture
def t_env() -> TableEnvironment:
    builder = EnvironmentSettings.new_instance().with_configuration(local_options())
    return TableEnvironment.create(builder.in_streaming_mode().build())


@pytest.fixture
def batch_env() -> TableEnvironment:
    builder = EnvironmentSettings.new_instance().with_configuration(local_options())
    return TableEnvironment.create(builder.in_batch_mode().build())


@pytest.fixture
def stream_env() -> StreamTableEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(local_options())
    return StreamTableEnvironment.create(env)


@pytest.fixture
def rows() -> Callable[[Table | TableResult], list[str]]:
    """The rows of a table or result, each as its kind and values."""

    def shown(found: Table | TableResult) -> list[str]:
        result = found.execute() if hasattr(found, "execute") else found
        with result.collect() as collected:
            return [_text(row) for row in collected]

    return shown


def _text(row: Row) -> str:
    return f"{row.get_row_kind()}{tuple(row)}"
