"""The tables of TPC-DS as Parquet files: made once by Trino's generator, then kept in a cache.

In: columns and their types.  Out: a folder with one folder for each table.  Next: engines.py
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from headrace.io.maven_jars import jars_of

if TYPE_CHECKING:
    from tpcds.flink_texts import Schemas

SCALE = "0.01"
_VERSION = "1.4"
# Airline reads the generator's command line; the generator's own pom calls it optional.
_JARS = [("io.trino.tpcds", "tpcds", _VERSION), ("io.airlift", "airline", "0.9")]


def tables(schemas: Schemas) -> Path:
    """The folder of the tables; they are always the same."""
    jars = jars_of(f"tpcds-{_VERSION}", _JARS)
    folder = jars.with_name(f"tpcds-{_VERSION}-scale-{SCALE}")
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=jars.parent) as scratch:
            _generate(jars, Path(scratch))
            made = Path(scratch, "tables")
            for name, columns in schemas.items():
                _write(Path(scratch, f"{name}.dat"), columns, made / name)
            made.rename(folder)  # whole or not at all
    return folder


def _generate(jars: Path, folder: Path) -> None:
    driver = ["java", "-cp", f"{jars}/*", "io.trino.tpcds.Driver", "--do-not-terminate"]
    subprocess.run([*driver, "--scale", SCALE, "--directory", str(folder)], check=True)


def _write(file: Path, columns: dict[str, str], folder: Path) -> None:
    """One Parquet file; an empty field is NULL, as in Flink's test."""
    folder.mkdir(parents=True)
    declared = ", ".join(f"'{column}': '{kind}'" for column, kind in columns.items())
    lines = (
        f"read_csv('{file}', delim = '|', header = false, nullstr = '', quote = '', escape = '',"
        f" encoding = 'latin-1', columns = {{{declared}}})"
    )
    with duckdb.connect() as connection:
        connection.execute(f"COPY (FROM {lines}) TO '{folder}/lines.parquet' (FORMAT parquet)")
