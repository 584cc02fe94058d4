"""Imports point one way, and every module has a signpost (STYLE.md, sections 1 and 5).

The table below is the architecture: a layer may import the layers named in its row and itself.
Imports under `if TYPE_CHECKING:` run nothing, and are left out; imports inside functions count.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(__file__).resolve().parents[2] / "src"
MODULES = sorted((SOURCE / "headrace").rglob("*.py"))

# What users and the runtime both speak: the modules of datastream/ that run inside workers.
VOCABULARY = (
    "headrace.datastream.functions",
    "headrace.datastream.state",
    "headrace.datastream.window",
    "headrace.datastream.output_tag",
    "headrace.datastream.timerservice",
    "headrace.datastream.time_domain",
    "headrace.datastream.time_characteristic",
    "headrace.datastream.connectors.sink",
)

BASE = {"headrace", "errors", "common", "missing"}
MAY_IMPORT: dict[str, set[str]] = {
    "headrace": {"missing"},
    "missing": {"headrace", "errors", "missing_names"},
    "missing_names": set(),
    "errors": {"headrace"},
    "common": {"headrace", "errors"},
    "metrics": {"headrace", "common"},
    "table": BASE,
    "vocabulary": BASE,
    "runtime": BASE | {"vocabulary"},
    "graph": BASE | {"vocabulary", "runtime"},
    "datastream": BASE | {"vocabulary", "runtime", "graph"},
    "plan": BASE | {"vocabulary", "runtime", "graph"},
    "spark": BASE | {"vocabulary", "runtime", "graph", "datastream", "plan"},
    "control": BASE | {"vocabulary", "runtime", "graph", "datastream", "plan", "spark"},
    "cli": BASE
    | {"vocabulary", "runtime", "graph", "datastream", "plan", "spark", "control", "state"},
    "state": BASE | {"vocabulary", "runtime", "graph", "datastream", "plan", "spark", "control"},
    "testing": BASE | {"vocabulary", "runtime", "graph", "datastream", "plan", "spark", "control"},
}

# Building a program needs no Spark; running one does.  These reach up on purpose, in a function.
LAZY_UPWARD = {
    ("headrace.datastream.stream_execution_environment", "plan"),
    ("headrace.datastream.stream_execution_environment", "control"),
}


class Import(NamedTuple):
    module: str
    line: int
    inside_function: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str:
    if any(module == name or module.startswith(f"{name}.") for name in VOCABULARY):
        return "vocabulary"
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "headrace"


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def imports_of(node: ast.AST, *, inside_function: bool = False) -> Iterator[Import]:
    """Yields what runs when the module is imported or its functions are called."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, child.lineno, inside_function)
        elif isinstance(child, ast.ImportFrom):
            # `from package import name` may name a module: layer_of decides by the longer name.
            for alias in child.names:
                yield Import(f"{child.module}.{alias.name}", child.lineno, inside_function)
        elif is_type_checking(child):
            for other in child.orelse:  # type: ignore[attr-defined]
                yield from imports_of(other, inside_function=inside_function)
        else:
            is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from imports_of(child, inside_function=inside_function or is_function)


def imported_by(path: Path) -> list[Import]:
    return list(imports_of(ast.parse(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_imports_point_one_way(path: Path) -> None:
    module = module_name(path)
    layer = layer_of(module)
    assert layer in MAY_IMPORT, f"{layer}/ has no row in MAY_IMPORT: decide where it stands"
    wrong = [
        f"{path.relative_to(SOURCE)}:{found.line} {layer} imports {found.module} ({target})"
        for found in imported_by(path)
        if found.module.split(".")[0] == "headrace"
        for target in [layer_of(found.module)]
        if target in MAY_IMPORT and target not in MAY_IMPORT[layer] | {layer}
        if not (found.inside_function and (module, target) in LAZY_UPWARD)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_only_the_spark_folder_imports_pyspark(path: Path) -> None:
    if layer_of(module_name(path)) == "spark":
        return
    wrong = [
        f"{path.relative_to(SOURCE)}:{found.line} imports {found.module}"
        for found in imported_by(path)
        if found.module.split(".")[0] in ("pyspark", "py4j")
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", MODULES, ids=module_name)
def test_every_module_has_a_signpost(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring, f"{path.relative_to(SOURCE)}: say what comes in, what goes out, what is next"


def test_every_folder_is_a_package() -> None:
    folders = {path.parent for path in MODULES}
    missing = [folder for folder in folders if not (folder / "__init__.py").exists()]
    assert not missing, f"without __init__.py: {missing}"


def modules_of(layer: str) -> list[str]:
    return [name for path in MODULES if layer_of(name := module_name(path)) == layer]


@pytest.mark.parametrize(
    "layer", ["common", "vocabulary", "runtime", "graph", "plan", "datastream"]
)
def test_importing_a_layer_loads_no_pyspark(layer: str) -> None:
    """Workers import the runtime in every process: Spark's Python API would cost them a second."""
    program = (
        "import importlib, sys\n"
        f"for name in {modules_of(layer)!r}: importlib.import_module(name)\n"
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
