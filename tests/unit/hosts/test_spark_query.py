"""Stopping a query of Spark's: who waits for its batch says so."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from headrace.hosts.spark.microbatch.query import SparkQuery
from headrace.io import waiting


@pytest.mark.parametrize("too_long", [False, True])
def test_who_stops_a_query_waits_for_its_batch_and_says_for_how_long(
    too_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[Any] = []
    watch = SimpleNamespace(add=waits.append, remove=lambda wait: None)
    monkeypatch.setattr(waiting, "_watch", watch)
    session = SimpleNamespace(conf={"spark.sql.streaming.stopTimeout": "30s"})
    query = SparkQuery(
        cast("Any", SimpleNamespace(sparkSession=session)),
        checkpoint="",
        name="orders",
        interval_ms=0,
        on_batch=lambda batch, number: None,
    )
    stopped: list[bool] = []

    def stop() -> None:
        stopped.append(True)
        if too_long:
            raise TimeoutError

    query._query = cast("Any", SimpleNamespace(stop=stop))
    query.stop()
    assert stopped == [True]
    (wait,) = waits
    assert wait.what == "the batch of 'orders' to end, which was interrupted"
    assert wait.limit == "for 30s at most (spark.sql.streaming.stopTimeout)"
