"""`Any` is for records, keys and state of users, in the rooms that hold them, and nowhere else.

A value of unknown type that passes through any other room has a name in common/opaque.py.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from source_files import PACKAGE, source_files, tell

if TYPE_CHECKING:
    from source_files import SourceFile

# Records, keys, windows and state are the business of these, so they may say Any.
ROOMS_OF_RECORDS = (
    "api",
    "cep",
    "common/accumulators.py",
    "common/opaque.py",
    "common/serialization.py",
    "common/serializer.py",
    "common/types.py",
    "common/watermark_strategy.py",
    "connectors",
    "data",
    "datastream",
    "expr",
    "formats",
    "runtime",
    "scalars",
    "state.py",
    "table",
    "testing",
)
# Elsewhere Any must stay in these places, this often.
EXCEPTIONS = {
    "cli/program.py": 1,  # a stand-in for a job
    "cli/savepoints.py": 1,  # a context that typer does not publish
    "common/class_names.py": 4,  # classes of users, found by name
    "common/type_inference.py": 19,  # annotations, which have no common type
    "common/type_json.py": 1,  # classes of typeinfo.py with different parameters
    "control/state_names.py": 2,
    "hosts/local/database.py": 1,  # rows of SQLite
    "hosts/local/host.py": 1,  # adapters of different sources in one list
    "hosts/local/sources.py": 1,
    "hosts/spark/microbatch/processor.py": 2,  # pyspark's interface of a processor
    "hosts/spark/microbatch/query.py": 1,  # overloads of pyspark
    "hosts/spark/microbatch/state_store.py": 6,  # internals of pyspark without types
    "hosts/spark/microbatch/worker.py": 3,
    "hosts/spark/native/columns.py": 1,
    "hosts/spark/sources/layouts.py": 7,  # cells of Arrow columns
    "hosts/spark/sources/opening.py": 1,
    "hosts/spark/state/seeding.py": 2,
    "missing.py": 4,  # names that a program may use up to the error
    "spi/python_source.py": 1,  # the alias Offset
}


def _files_without_records() -> list[SourceFile]:
    rooms = [PACKAGE / room for room in ROOMS_OF_RECORDS]
    assert all(room.exists() for room in rooms)
    return [file for file in source_files() if not {file.path, *file.path.parents} & set(rooms)]


def _uses_of_any(file: SourceFile) -> list[int]:
    """The lines that say Any; what only imports it is not counted, and not needed either (ruff)."""
    names = (node for node in ast.walk(file.tree) if isinstance(node, ast.Name | ast.Attribute))
    return [n.lineno for n in names if "Any" in (getattr(n, "id", ""), getattr(n, "attr", ""))]


def test_a_module_without_records_says_any_only_where_it_must() -> None:
    tell(told for file in _files_without_records() if (told := _problem(file)))


def _problem(file: SourceFile) -> str:
    lines, allowed = _uses_of_any(file), EXCEPTIONS.get(file.inside, 0)
    if len(lines) > allowed:
        return (
            f"{file.at(lines[0])} Any in lines {lines}, where {allowed} are allowed (give the value"
            " a type, or a name of common/opaque.py)"
        )
    if len(lines) < allowed:
        return f"{file.at(1)} {len(lines)} Any, {allowed} allowed (lower the number in EXCEPTIONS)"
    return ""


def test_every_exception_is_a_module_of_today() -> None:
    gone = sorted(set(EXCEPTIONS) - {file.inside for file in _files_without_records()})
    tell(f"src/headrace/{name}:1 is not there (take it out of EXCEPTIONS)" for name in gone)
