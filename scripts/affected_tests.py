"""Runs the tests of what a change touches: those that import it, or import what imports it.

python scripts/affected_tests.py [--list] [ARGUMENTS OF PYTEST]

In: the files that differ from where this branch left main, committed or not, and who imports whom
in src, scripts and tests.  Out: test files, the nearest first, told and run.  A class that is found
by a text ("headrace.hosts.local.host:LocalHost") counts as imported.  Files that are no Python are
told: `make check` and `make test` know about them.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict, deque
from pathlib import Path
from typing import TYPE_CHECKING

import grimp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT = Path(__file__).resolve().parent.parent
# Where modules begin: src/headrace/x.py is headrace.x, tests/pages.py is pages.
ROOTS = ("src", "scripts", "tests")
# A class in a registry, or an entry point.
BY_TEXT = re.compile(r"[\"'](headrace(?:\.\w+)+):\w+[\"']")

Imports = dict[str, set[str]]


def module_of(path: Path) -> str:
    """``src/headrace/sql/__init__.py`` is headrace.sql; empty for what is no module of ours."""
    if path.suffix != ".py" or path.parts[0] not in ROOTS:
        return ""
    parts = path.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of_the_repository() -> Imports:
    """Who imports whom: the package's from grimp, those of scripts and tests from their texts."""
    package = grimp.build_graph("headrace", cache_dir=None)
    imports = {each: package.find_modules_directly_imported_by(each) for each in package.modules}
    files = {
        module_of(path.relative_to(ROOT)): path
        for folder in ROOTS[1:]
        for path in (ROOT / folder).rglob("*.py")
    }
    known = imports.keys() | files.keys()
    for name, path in files.items():
        text = path.read_text(encoding="utf-8")
        imports[name] = known & set(_imported(ast.parse(text)))
        imports[name] |= _conftests(name, known)
    _add_those_by_text(imports)
    return imports


def _imported(node: ast.AST) -> Iterator[str]:
    """What a file imports when it runs; what only types need changes no test's result."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        for child in ast.iter_child_nodes(node):
            yield from _imported(child)


def _conftests(name: str, known: Iterable[str]) -> set[str]:
    """The conftest.py of the folders that a test is in: pytest imports them for it."""
    folders = name.split(".")[:-1]
    above = {".".join([*folders[:depth], "conftest"]) for depth in range(len(folders) + 1)}
    return (above & set(known)) - {name}


def _add_those_by_text(imports: Imports) -> None:
    for path in (ROOT / "src").rglob("*.py"):
        name = module_of(path.relative_to(ROOT))
        # what is missing is named, not imported
        if name != "headrace.missing_names":
            found = BY_TEXT.findall(path.read_text(encoding="utf-8"))
            imports[name] = imports[name] | (imports.keys() & set(found))


def affected(changed: Iterable[str], imports: Mapping[str, set[str]]) -> dict[str, int]:
    """The modules that import a changed one, with the length of the shortest way to one."""
    importers = defaultdict(set)
    for name, imported in imports.items():
        for each in imported:
            importers[each].add(name)
    distances = dict.fromkeys(changed, 0)
    waiting = deque(distances)
    while waiting:
        name = waiting.popleft()
        for by in sorted(importers[name] - distances.keys()):
            distances[by] = distances[name] + 1
            waiting.append(by)
    return distances


def test_files_among(distances: Mapping[str, int]) -> list[Path]:
    """The test files among modules that are there, the nearest first."""
    tests = (
        (distance, Path("tests", *name.split(".")).with_suffix(".py"))
        for name, distance in distances.items()
        if name.rpartition(".")[2].startswith("test_")
    )
    return [path for _, path in sorted(tests) if (ROOT / path).exists()]


def changed_files() -> list[Path]:
    """What differs from where this branch left main: committed, uncommitted, and new."""
    base = _git("merge-base", "HEAD", "main")[0]
    found = _git("diff", "--name-only", base) + _git("ls-files", "--others", "--exclude-standard")
    return [Path(name) for name in dict.fromkeys(found)]


def _git(*arguments: str) -> list[str]:
    answer = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if answer.returncode:
        sys.exit(f"git {' '.join(arguments)}: {answer.stderr.strip()}")
    return answer.stdout.splitlines()


def main(arguments: list[str]) -> int:
    files = changed_files()
    changed = filter(None, map(module_of, files))
    tests = test_files_among(affected(changed, imports_of_the_repository()))
    for path in files:
        if not module_of(path):
            print(f"{path}: no module, so no tests are looked for (make check, make test)")
    print(f"{len(files)} files changed, {len(tests)} test files import them:")
    print(*tests, sep="\n", flush=True)
    if not tests or "--list" in arguments:
        return 0
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", *map(str, tests), *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
