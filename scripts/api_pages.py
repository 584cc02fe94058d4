"""The API reference: every public name, by the path it is imported from.

mkdocs calls this when it builds the pages (`hooks` in mkdocs.yml), and mkdocstrings fills in
signatures and docstrings.  A name that several modules export is described once, where it stands
first below.
"""

from __future__ import annotations

import importlib
from typing import Any

# page: its title, and the modules whose __all__ it describes
PAGES: dict[str, tuple[str, list[str]]] = {
    "functions": ("Functions", ["headrace.datastream.functions"]),
    "streams": (
        "Environment and streams",
        [
            "headrace.datastream",
            "headrace.datastream.data_stream",
            "headrace.datastream.async_data_stream",
            "headrace.datastream.async_retry_predicates",
            "headrace.datastream.async_retry_strategies",
            "headrace.datastream.connected_streams",
            "headrace.datastream.windowed_stream",
            "headrace.datastream.joined_streams",
            "headrace.datastream.interval_join",
        ],
    ),
    "expressions": ("Column expressions", ["headrace.datastream.expressions"]),
    "windows": ("Windows, triggers, evictors", ["headrace.datastream.window"]),
    "patterns": ("Patterns over events", ["headrace.cep"]),
    "state": (
        "State, savepoints, timers",
        ["headrace.datastream.state", "headrace.datastream.timerservice", "headrace.state"],
    ),
    "connectors": (
        "Sources, sinks, formats",
        [
            "headrace.datastream.connectors.base",
            "headrace.connectors.collection.source",
            "headrace.datastream.connectors.file_system",
            "headrace.connectors.files.source",
            "headrace.datastream.connectors.datagen",
            "headrace.datastream.connectors.number_seq",
            "headrace.connectors.socket.source",
            "headrace.datastream.connectors.python_source",
            "headrace.datastream.connectors.sink",
            "headrace.spi.staging",
            "headrace.connectors",
            "headrace.datastream.connectors.dynamic_kafka",
            "headrace.datastream.connectors.elasticsearch",
            "headrace.datastream.connectors.jdbc",
            "headrace.datastream.connectors.kafka",
            "headrace.datastream.connectors.postgres",
            "headrace.datastream.connectors.redis",
            "headrace.datastream.formats.avro",
            "headrace.datastream.formats.csv",
            "headrace.formats.csv_reader",
            "headrace.datastream.formats.json",
            "headrace.datastream.formats.parquet",
            "headrace.formats.json_reader",
            "headrace.formats.parquet_reader",
        ],
    ),
    "common": (
        "Types, time, settings, jobs",
        [
            "headrace.common",
            "headrace.common.configuration",
            "headrace.common.constants",
            "headrace.common.serialization",
            "headrace.common.serializer",
            "headrace.common.time",
            "headrace.common.watermark_strategy",
            "headrace.metrics",
        ],
    ),
    "testing": ("Testing", ["headrace.testing", "headrace.testing.connectors"]),
    "errors": ("Errors", ["headrace.errors"]),
}


def pages() -> dict[str, str]:
    """The text of every page, by its file name."""
    known: dict[int, str] = {}
    return {f"{page}.md": _page(title, modules, known) for page, (title, modules) in PAGES.items()}


def _page(title: str, modules: list[str], known: dict[int, str]) -> str:
    parts = [f"# {title}"]
    for path in modules:
        names = [name for name in _public(path) if id(_named(path, name)) not in known]
        if not names:
            continue
        parts.append(f"## {path}")
        for name in names:
            thing = _named(path, name)
            known[id(thing)] = path
            parts.append(_entry(path, name, thing))
    return "\n\n".join(parts) + "\n"


def _public(path: str) -> list[str]:
    module = importlib.import_module(path)
    names = getattr(module, "__all__", None)
    if names is None:
        names = [
            name
            for name, thing in vars(module).items()
            if getattr(thing, "__module__", None) == path and not name.startswith("_")
        ]
    return sorted(names)


def _named(path: str, name: str) -> object:
    return getattr(importlib.import_module(path), name)


def _entry(path: str, name: str, thing: object) -> str:
    home = getattr(thing, "__module__", None)
    where = f"{home}.{getattr(thing, '__qualname__', name)}" if home else f"{path}.{name}"
    return f"::: {where}\n    options:\n      heading: {name}\n      toc_label: {name}"


def on_files(files: Any, config: Any) -> Any:
    """Called by mkdocs: add the pages."""
    from mkdocs.structure.files import File

    for name, text in pages().items():
        files.append(File.generated(config, f"reference/api/{name}", content=text))
    return files
