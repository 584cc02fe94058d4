"""What waits in a source is a figure for metrics: without it a batch is as good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.hosts import pending
from headrace.hosts.local.sources import LocalSource
from headrace.hosts.pending import pending_of
from headrace.runtime.metrics import OperatorMetrics
from headrace.spi.python_source import PythonSource

if TYPE_CHECKING:
    from headrace.spi.python_source import Position


class Numbers(PythonSource):
    """Ten records; from the second question on the broker is away."""

    counts_pending = True

    def __init__(self) -> None:
        self.questions = 0

    def latest_offset(self, split: str, start: int) -> int:
        self.questions += 1
        if self.questions > 1:
            raise OSError("the broker is away")
        return 10

    def read(self, split: str, start: int, end: int) -> Any:
        return iter(range(start, end))


class Uncounted(Numbers):
    counts_pending = False


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_told", set())
    monkeypatch.setattr("headrace.runtime.metrics._told", set())


def test_a_micro_batch_does_not_fail_because_its_lag_is_unknown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = LocalSource(Numbers(), source_id="s")
    [(_, records)] = source.next_parts()
    assert records is not None
    assert records.values == list(range(10))
    for _ in range(2):
        [(_, report)] = source.reports("s")
        assert report["s"]["gauges"] == {"pendingRecords": None, "records-lag-max": None}
    assert len(caplog.messages) == 1


def test_all_that_waits_and_the_split_that_is_furthest_behind() -> None:
    def latest() -> Position:
        return {"a": 7, "b": 30, "c": 0, "new": 99}

    [(_, report)] = pending_of("s", Numbers(), {"a": 5, "b": 10, "c": 3}, latest)
    assert report["s"]["gauges"] == {"pendingRecords": 22, "records-lag-max": 20}


def test_a_source_that_does_not_count_is_not_asked() -> None:
    def latest() -> Position:
        raise AssertionError("nobody wants to know")

    assert pending_of("s", Uncounted(), {}, latest) == []


def test_a_gauge_that_raises_is_unknown_and_told_once(caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> int:
        raise KeyError("total")

    metrics = OperatorMetrics(gauges={"mine": broken, "other": 3})
    for _ in range(2):
        assert metrics.report()["gauges"] == {"mine": None, "other": 3}
    assert caplog.messages == ["the gauge 'mine' is not shown: KeyError: 'total'"]
