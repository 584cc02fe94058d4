"""How many slots a Spark can ever have: what can never fit is refused at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.hosts.spark.continuous import jvm


def session(master: str, **settings: str) -> Any:
    conf = SimpleNamespace(get=lambda key, default=None: settings.get(key, default))
    return SimpleNamespace(sparkContext=SimpleNamespace(master=master, getConf=lambda: conf))


@pytest.mark.parametrize(
    ("master", "settings", "most"),
    [
        ("local[3]", {}, 3),  # what is there is all there is
        ("spark://m:7077", {}, None),
        ("spark://m:7077", {"spark.cores.max": "6"}, 6),
        ("spark://m:7077", {"spark.cores.max": "6", "spark.task.cpus": "2"}, 3),
        (
            "spark://m:7077",
            {
                "spark.executor.cores": "2",
                "spark.dynamicAllocation.enabled": "true",
                "spark.dynamicAllocation.minExecutors": "4",
            },
            8,
        ),
        (
            "spark://m:7077",  # what is there, since no waiting task asks for more
            {"spark.executor.cores": "2", "spark.dynamicAllocation.enabled": "true"},
            3,
        ),
        ("k8s://m", {"spark.executor.cores": "2", "spark.executor.instances": "5"}, 10),
        ("yarn", {"spark.executor.instances": "5"}, None),
        ("local-cluster[2,1,1024]", {}, None),
    ],
)
def test_the_most(
    master: str, settings: dict[str, str], most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm, "slots", lambda spark: 3)
    assert jvm.most_slots(session(master, **settings)) == most
