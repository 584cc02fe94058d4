"""Spark cannot start: the user sees one error, and none of Java's lines."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

_PROGRAM = """
import sys
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import EnvironmentSetupError

settings = dict(argument.split("=") for argument in sys.argv[1:])
for attempt in range(2):  # a second one, with whatever the first one has left behind
    configuration = Configuration.from_dict(settings)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1]).print()
    try:
        env.execute()
    except EnvironmentSetupError as error:
        print(error)
"""


def _told(*settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *settings], capture_output=True, text=True
    )
    assert done.stderr == ""
    assert done.stdout.count("[ENVIRONMENT_SETUP]") == done.stdout.count("\n") / 3 == 2
    return done.stdout


def test_a_master_that_is_none_is_named() -> None:
    assert "does not know what the master 'local[x]' is" in _told("spark.master=local[x]")


@pytest.mark.parametrize("service", ["driver", "ui"])  # at the second one the JVM ends itself
def test_a_port_in_use_is_named(service: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = _told(
            f"spark.{service}.port={port}", "spark.ui.enabled=true", "spark.port.maxRetries=0"
        )
    assert f"cannot have port {port}" in told
