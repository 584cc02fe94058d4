"""What a notebook shows of an error: IPython asks it for its lines by `_render_traceback_`."""

from __future__ import annotations

import linecache

import pytest

from headrace.errors import HeadraceError, InternalError
from headrace.table import EnvironmentSettings, TableEnvironment

CELL = """\
def ask(text):
    return tables.sql_query(text)

ask("SELECT a FORM t")
"""


def shown(cell: str, **names: object) -> list[str]:
    """A cell's error as `InteractiveShell.showtraceback` gets its lines."""
    file = "/tmp/ipykernel_1/1234.py"
    linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
    with pytest.raises(HeadraceError) as caught:
        exec(compile(cell, file, "exec"), names)
    return caught.value._render_traceback_()


def test_an_error_of_sql_is_shown_with_the_lines_of_the_cell_alone() -> None:
    tables = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    lines = shown(CELL, tables=tables)
    assert "test_errors_in_notebooks.py" in lines[0]  # which has the cell executed
    assert lines[2:] == [
        '  File "/tmp/ipykernel_1/1234.py", line 4, in <module>',
        '    ask("SELECT a FORM t")',
        '  File "/tmp/ipykernel_1/1234.py", line 2, in ask',
        "    return tables.sql_query(text)",
        "[SQL_PARSE] expected ',', FROM, INTERSECT, UNION, EXCEPT, ORDER, LIMIT or others, "
        "but found t",
        "  where: line 1, column 15",
        "    1 | SELECT a FORM t",
        "      |               ^",
        "  fix:   did you mean FROM instead of FORM?",
    ]


def test_a_defect_of_headrace_is_shown_with_all_its_frames() -> None:
    def fail() -> None:
        message = "a step without a name"
        raise InternalError(message)

    lines = shown("fail()", fail=fail)
    assert lines[0] == "Traceback (most recent call last):"
    assert any("in fail" in line for line in lines)
