"""A real server on a free port of loopback, over a dispatcher that only takes notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.rest.settings import RestSettings
from rest_fakes import FakeDispatcher, FakeViews
from rest_serving import Serving, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """For tests that only read, or leave no trace."""
    dispatcher = FakeDispatcher(FakeViews(), tmp_path_factory.mktemp("cluster"))
    with serving(dispatcher, RestSettings(port=0)) as found:
        yield found


@pytest.fixture
def dispatcher(tmp_path: Path) -> FakeDispatcher:
    return FakeDispatcher(FakeViews(), tmp_path / "cluster")


@pytest.fixture
def acting(dispatcher: FakeDispatcher) -> Iterator[Serving]:
    """A server of the test's own."""
    with serving(dispatcher, RestSettings(port=0)) as found:
        yield found
