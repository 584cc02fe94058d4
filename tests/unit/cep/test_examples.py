"""The programs of examples/cep on their own small data, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cep_examples import EXPECTED, example, streams
from headrace.testing import collect_locally

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_example_finds_what_it_says(name: str, repository: Path) -> None:
    for output, expected in EXPECTED[name].items():
        found = collect_locally(streams(example(repository, name))[output])
        plain = [each if isinstance(each, str) else tuple(each) for each in found]
        assert sorted(plain) == sorted(expected)
