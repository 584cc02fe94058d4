"""The programs of examples/cep on Spark, in one job; one of them has patterns that are data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cep_examples import EXPECTED, example, streams
from headrace.common import Types

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

    MakeEnv = Callable[..., StreamExecutionEnvironment]

pytestmark = pytest.mark.spark


def test_the_examples_find_what_they_say(make_env: MakeEnv, repository: Path) -> None:
    env = make_env({"source.max-records-per-batch": 6})
    results = {name: streams(example(repository, name), env)["main"] for name in EXPECTED}
    texts = [
        stream.map(
            lambda found: repr(found if isinstance(found, str) else tuple(found)),
            output_type=Types.STRING(),
        )
        for stream in results.values()
    ]
    with texts[0].union(*texts[1:]).execute_and_collect() as found:
        expected = [repr(each) for outputs in EXPECTED.values() for each in outputs["main"]]
        assert sorted(found) == sorted(expected)
