"""One name, one thing: no two classes of the package have the same name."""

from __future__ import annotations

import ast
from collections import defaultdict

from source_files import PACKAGE, source_files, tell


def test_a_class_name_means_one_class() -> None:
    """Re-exports are imports, so they do not count; nested classes belong to their outer class.

    The Table API's names are PyFlink's, which has some twice itself: AggregateFunction, Schema.
    """
    places = defaultdict(list)
    tables = (PACKAGE / "table", PACKAGE / "api" / "table")
    for file in source_files():
        if any(folder in file.path.parents for folder in tables):
            continue
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file.at(node.lineno))
    tell(
        f"{found[-1]} a class {name} is also at {', '.join(found[:-1])} (rename the internal one)"
        for name, found in places.items()
        if len(found) > 1
    )
