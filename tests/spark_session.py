"""A local Spark for tests.  Next: tests/spark/conftest.py, tests/continuous/conftest.py"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from pathlib import Path

STATE_STORE = "spark.sql.streaming.stateStore"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def local_session(scratch: Path, slots: int) -> SparkSession:
    """A session whose files are below a folder."""
    return (
        SparkSession.builder.master(f"local[{slots}]")
        .appName("headrace-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.local.dir", str(scratch / "local"))
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .config("spark.python.unix.domain.socket.enabled", "true")  # as headrace's own session
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config(f"{STATE_STORE}.providerClass", ROCKSDB)
        .config(f"{STATE_STORE}.rocksdb.changelogCheckpointing.enabled", "true")
        .getOrCreate()
    )
