"""What Flink needs to read Parquet: its own format from Maven, Hadoop's client among Spark's jars.

In: nothing.  Out: the jars.  Next: ../systems/nexmark_flink.py
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests"))

from headrace.io.maven_jars import jars_of

FORMAT, VERSION = "flink-sql-parquet", "2.3.0"  # the version of PyFlink in `make oracle`


def parquet_jars() -> list[Path]:
    """The jars; the format is brought once."""
    folder = jars_of(f"{FORMAT}-{VERSION}", [("org.apache.flink", FORMAT, VERSION)])
    spark = importlib.util.find_spec("pyspark")
    assert spark is not None
    assert spark.origin is not None
    hadoop = sorted((Path(spark.origin).parent / "jars").glob("hadoop-client-*.jar"))
    return [folder / f"{FORMAT}-{VERSION}.jar", *hadoop]
