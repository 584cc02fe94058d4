"""The API reference has every public name once, and the navigation every page of it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import api_pages

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
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


def _modules() -> list[str]:
    places = [SOURCE / "headrace" / name for name in PUBLIC]
    files = [f for place in places for f in ([place] if place.is_file() else place.rglob("*.py"))]
    names = [
        ".".join(file.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for file in sorted(files)
        if "\n__all__" in file.read_text(encoding="utf-8")
    ]
    return [name for name in names if name not in INTERNAL]


def _described() -> list[str]:
    return [
        name
        for text in api_pages.pages().values()
        for name in re.findall(r"^::: (\S+)$", text, re.M)
    ]


def test_nothing_is_described_twice() -> None:
    described = _described()
    assert len(described) == len(set(described))


@pytest.mark.parametrize("module", _modules())
def test_every_public_name_of_the_module_is_described(module: str) -> None:
    described = {name.rpartition(".")[2] for name in _described()}
    assert [n for n in importlib.import_module(module).__all__ if n not in described] == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [p for p in api_pages.pages() if f"reference/api/{p}" not in navigation] == []
