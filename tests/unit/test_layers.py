"""Every module has a signpost that leads somewhere, and what workers import loads no Spark.

Which package may import which is in .importlinter, and `make check` holds it.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"
MODULES = sorted((SOURCE / "headrace").rglob("*.py"))


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# A file that a signpost leads to: `Next: runtime/chain.py`, or a neighbour.
FILE_NAME = re.compile(r"(?<![\w/.*<-])((?:[a-z_]+/)*[a-z_]+\.(?:py|md))\b")
# files of users, in examples
OF_USERS = {"pipeline.py", "nt.py", "program.py", "script.py", "job.py"}


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_every_module_has_a_signpost(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring, f"{path.relative_to(SOURCE)}: say what comes in, what goes out, what is next"


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in MODULES}
    missing = [folder for folder in folders if not (folder / "__init__.py").exists()]
    assert not missing, f"without __init__.py: {missing}"


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_signposts_lead_to_files_that_exist(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    places = (path.parent, SOURCE / "headrace", SOURCE.parent, path.parent.parent)
    broken = [
        name
        for name in FILE_NAME.findall(docstring)
        if name not in OF_USERS and not any((place / name).exists() for place in places)
    ]
    assert not broken, f"{path.relative_to(SOURCE)} leads to {broken}"


def modules_of(package: str) -> list[str]:
    begins = f"headrace.{package}"
    names = [module_name(path) for path in MODULES]
    return [name for name in names if name == begins or name.startswith(f"{begins}.")]


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
