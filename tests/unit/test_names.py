"""One name, one thing: no two classes of the package have the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"


def test_a_class_name_means_one_class() -> None:
    """Re-exports are imports, so they do not count; nested classes belong to their outer class.

    The Table API's names are PyFlink's, which has some twice itself: AggregateFunction, Schema.
    """
    places = defaultdict(list)
    tables = (SOURCE / "headrace" / "table", SOURCE / "headrace" / "api" / "table")
    for path in sorted((SOURCE / "headrace").rglob("*.py")):
        if any(folder in path.parents for folder in tables):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SOURCE)))
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert not shared, "rename the internal one"
