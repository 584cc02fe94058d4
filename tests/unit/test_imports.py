"""What workers import loads no Spark, and `import headrace` loads next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from source_files import PACKAGE, module_name

MODULES = [module_name(path) for path in sorted(PACKAGE.rglob("*.py"))]


def modules_of(package: str) -> list[str]:
    begins = f"headrace.{package}"
    return [name for name in MODULES if name == begins or name.startswith(f"{begins}.")]


@pytest.mark.parametrize(
    "package",
    ["api", "common", "connectors", "data", "datastream", "expr", "formats", "graph", "io", "plan",
     "rel", "runtime", "scalars", "spi", "sql", "table"],
)  # fmt: skip
def test_importing_a_package_loads_no_pyspark(package: str) -> None:
    """Workers import the runtime in every process: Spark's Python API would cost them a second."""
    program = (
        "import importlib, sys\n"
        f"for name in {modules_of(package)!r}: importlib.import_module(name)\n"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'pyspark', 'py4j'}))\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip() == "[]"


def test_importing_headrace_loads_neither_spark_nor_arrow() -> None:
    program = "import sys, headrace; print({'pyspark', 'pyarrow', 'pandas'} & set(sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "set()"
