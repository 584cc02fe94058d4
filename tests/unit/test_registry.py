"""Implementations of a seam by name: ours, and those of other packages."""

from __future__ import annotations

import importlib.metadata
from typing import TYPE_CHECKING

import pytest

from headrace.errors import ConfigurationError
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
    assert HOSTS.names() == ["acme", "local", "spark"]


def test_an_unknown_name_is_told_with_a_close_one(brought: Callable[[str], None]) -> None:
    brought("headrace.hosts.local.host:LocalHost")
    with pytest.raises(ConfigurationError, match="there is no host 'acne'") as refused:
        HOSTS.find("acne")
    assert refused.value.fix == "did you mean 'acme'?"
