"""The programs and commands of these pages run on Spark and print what the page shows: pages.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pages import ON_SPARK, ROOT, run_page

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

# The tutorial starts four drivers, one after the other.
pytestmark = pytest.mark.timeout(1200)


@pytest.mark.parametrize("page", ON_SPARK)
def test_the_page_is_true(page: str, spark: SparkSession, tmp_path: Path) -> None:
    run_page(ROOT / "docs" / page, tmp_path)
