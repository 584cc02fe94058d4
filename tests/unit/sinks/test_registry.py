"""Connectors are found by name: ours, other packages', and what is wrong when one is not."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headrace import connectors
from headrace.connectors.registry import GROUP
from headrace.errors import ConnectorError, InvalidArgumentError
from headrace.spi.sink import Sink
from headrace.spi.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[3]


def install(folder: Path, package: str, entries: dict[str, str]) -> None:
    """What pip leaves of a package's entry points."""
    info = folder / f"{package}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    lines = [f"[{GROUP}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where headrace is installed as pyproject.toml says, before whatever is installed really."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install(tmp_path, "headrace", project["entry-points"][GROUP])
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in ("acme", "acme_broken"):
        sys.modules.pop(name, None)


def test_every_folder_of_ours_has_a_name_and_every_name_a_connector() -> None:
    folders = {f.name for f in (ROOT / "src/headrace/connectors").iterdir() if f.is_dir()}
    ours = connectors.available()
    assert folders - {"__pycache__", "driver"} <= set(ours)
    assert set(ours.values()) == {"headrace 1.2"}
    for name in ours:
        found = connectors.find(name)
        assert found.summary
        assert found.sources or found.sinks
        assert all(issubclass(source, Source) for source in found.sources)
        assert all(issubclass(sink, Sink) for sink in found.sinks)


def test_the_connector_of_another_package_is_found(site: Path) -> None:
    (site / "acme.py").write_text(
        "from headrace.connectors.discarding import DiscardingSink\n"
        "from headrace.spi.connector import Connector\n"
        "class AcmeSink(DiscardingSink): ...\n"
        "CONNECTOR = Connector('a queue', sinks=(AcmeSink,))\n"
    )
    install(site, "headrace-acme", {"acme": "acme:CONNECTOR"})
    assert connectors.available()["acme"] == "headrace-acme 1.2"
    assert "acme" not in sys.modules
    assert connectors.find("acme").sinks[0].__name__ == "AcmeSink"


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(InvalidArgumentError, match="did you mean 'postgres'") as caught:
        connectors.find("Postgress")
    assert caught.value.where
    assert "redis" in (caught.value.fix or "")


def test_two_packages_with_one_name_are_told(site: Path) -> None:
    install(site, "other-redis", {"redis": "other:CONNECTOR"})
    with pytest.raises(ConnectorError, match=r"headrace 1\.2.*other-redis 1\.2|other-redis.*head"):
        connectors.find("redis")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("acme_broken:CONNECTOR", "cannot be imported: ModuleNotFoundError"),
        ("headrace.spi.connector:Connector", "is a type, not a Connector"),
    ],
)
def test_a_connector_that_does_not_load_is_told(site: Path, value: str, message: str) -> None:
    install(site, "headrace-acme", {"acme": value})
    with pytest.raises(ConnectorError, match=message) as caught:
        connectors.find("acme")
    assert "headrace-acme 1.2" in str(caught.value.where)
    assert caught.value.fix
