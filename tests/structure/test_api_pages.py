"""The API reference has every public name once, and the navigation every page of it."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from pathlib import Path

import api_pages
from source_files import PACKAGE, ROOT, module_name, place, source_files, tell

PUBLIC = ["cep/__init__.py", "common", "datastream", "metrics", "testing", "errors.py", "state.py"]
# Not for users: how options are declared, how types are guessed and stored; and what is described
# where users import it.
INTERNAL = {
    "headrace.common.config_options",
    "headrace.common.data_types",  # users import them from headrace.table.types
    "headrace.common.options",
    "headrace.common.sensitive",
    "headrace.common.type_inference",
    "headrace.common.type_json",
}

PAGES = place(Path(api_pages.__file__), 1).removesuffix(":1")


def _modules() -> list[str]:
    public = [PACKAGE / name for name in PUBLIC]
    assert all(each.exists() for each in public)
    names = [
        module_name(file.path)
        for file in source_files()
        if {file.path, *file.path.parents} & set(public) and "\n__all__" in file.text
    ]
    return [name for name in names if name not in INTERNAL]


def _described() -> list[str]:
    return [
        name
        for text in api_pages.pages().values()
        for name in re.findall(r"^::: (\S+)$", text, re.M)
    ]


def test_nothing_is_described_twice() -> None:
    twice = [name for name, often in Counter(_described()).items() if often > 1]
    tell(f"{PAGES}:1 describes {name} twice (name it in one page)" for name in twice)


def test_every_public_name_is_described() -> None:
    described = {name.rpartition(".")[2] for name in _described()}
    tell(
        f"{PAGES}:1 {module}.{name} is on no page (add it, or its module to INTERNAL)"
        for module in _modules()
        for name in importlib.import_module(module).__all__
        if name not in described
    )


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    tell(
        f"mkdocs.yml:1 leaves out reference/api/{page} (add it to nav)"
        for page in api_pages.pages()
        if f"reference/api/{page}" not in navigation
    )
