"""Implementations of a seam by name: ours, and those of other packages."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

import pytest

from headrace.errors import ConfigurationError, ConnectorError
from headrace.hosts.local.host import LocalHost
from headrace.spi.executor import EXECUTORS
from headrace.spi.host import HOSTS

if TYPE_CHECKING:
    from collections.abc import Callable


def test_ours_are_found_without_looking_at_installed_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(**_: object) -> None:
        pytest.fail("installed packages were searched")

    monkeypatch.setattr(importlib.metadata, "entry_points", fail)
    assert HOSTS.find("local") is LocalHost
    assert EXECUTORS.find("job").__name__ == "JobExecutor"


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def bring(value: str) -> None:
        point = importlib.metadata.EntryPoint("acme", value, "headrace.hosts")
        found = importlib.metadata.EntryPoints([point])
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: found)

    return bring


def test_a_package_may_bring_a_host(brought: Callable[[str], None]) -> None:
    brought("headrace.hosts.local.host:LocalHost")
    assert HOSTS.find("acme") is LocalHost
    assert HOSTS.names() == ["acme", "local", "local-continuous", "spark", "spark-continuous"]


def test_an_unknown_name_is_told_with_a_close_one(brought: Callable[[str], None]) -> None:
    brought("headrace.hosts.local.host:LocalHost")
    with pytest.raises(ConfigurationError, match="there is no host 'acne'") as refused:
        HOSTS.find("acne")
    assert refused.value.fix == "did you mean 'acme'?"


def test_a_host_that_cannot_be_imported_is_told_with_its_package(
    brought: Callable[[str], None],
) -> None:
    brought("no_such_package_of_ours:Host")
    with pytest.raises(ConnectorError, match="the host 'acme' cannot be imported") as refused:
        HOSTS.find("acme")
    assert "entry point 'acme' of headrace.hosts" in str(refused.value.where)
    assert refused.value.fix


def test_two_packages_with_one_host_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        importlib.metadata.EntryPoint("acme", value, "headrace.hosts") for value in ("a:A", "b:B")
    ]
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: points)
    with pytest.raises(ConnectorError, match="two packages provide a host 'acme'"):
        HOSTS.find("acme")
