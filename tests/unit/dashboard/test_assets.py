"""The dashboard's files: complete, our own, with nothing that its policy would have to allow."""

from __future__ import annotations

import re
from posixpath import dirname, join, normpath

import pytest

from headrace.dashboard import SECURITY_HEADERS, assets

SCRIPTS = [name for name in assets() if name.endswith(".js")]


def _text(name: str) -> str:
    return assets()[name].content.decode()


def test_the_page_names_only_files_that_exist() -> None:
    named = re.findall(r'(?:src|href)="([^"#]+)"', _text("index.html"))
    assert len(named) >= 5
    assert set(named) <= set(assets())


def test_the_page_has_nothing_inline() -> None:
    page = _text("index.html")
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert "<style" not in page
    assert not re.search(r"\s(?:style|on\w+)=", page)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_module_imports_only_files_that_exist(name: str) -> None:
    imported = re.findall(r'^import .*?from "([^"]+)"', _text(name), re.MULTILINE | re.DOTALL)
    for path in imported:
        assert normpath(join(dirname(name), path)) in assets()


@pytest.mark.parametrize("name", SCRIPTS)
def test_text_of_others_is_never_parsed(name: str) -> None:
    forbidden = r"\b(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval|new Function)\b"
    assert not re.search(forbidden, _text(name))


@pytest.mark.parametrize("name", [*assets()])
def test_no_file_names_an_address_elsewhere(name: str) -> None:
    """But for names of XML namespaces, which nobody asks."""
    found = re.findall(r"https?://[^\s\"'`)]+", _text(name).replace("http://www.w3.org/", ""))
    assert not [address for address in found if not address.startswith("https?:")]


@pytest.mark.parametrize("name", [n for n in assets() if n.endswith((".css", ".js"))])
def test_colours_have_names(name: str) -> None:
    """A colour outside of theme.css would be wrong in one of the two themes."""
    if name != "css/theme.css":
        assert not re.search(r"#[0-9a-fA-F]{6}\b", _text(name))


def test_the_policy_allows_scripts_and_answers_of_this_origin_only() -> None:
    policy = dict(
        part.strip().split(" ", 1)
        for part in SECURITY_HEADERS["Content-Security-Policy"].split(";")
    )
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "connect-src", "style-src")} == {"'self'"}
    assert policy["frame-ancestors"] == "'none'"


def test_an_asset_has_a_type_and_a_tag_of_its_content() -> None:
    assert assets()["js/main.js"].media_type.startswith("text/javascript")
    assert len({asset.etag for asset in assets().values()}) == len(assets())
