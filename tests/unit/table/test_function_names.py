"""Which function a name means, and what PyFlink's tests ask of functions of the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.api.table.views import MapView
from headrace.common import Row
from headrace.errors import InvalidArgumentError
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.udf import AggregateFunction, udf

if TYPE_CHECKING:
    from pathlib import Path

shout = udf(lambda text: f"{text}!", result_type=DataTypes.STRING())


@pytest.fixture
def tables() -> TableEnvironment:
    found = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    found.get_config().set("headrace.execution.host", "local")
    found.get_config().set("parallelism.default", "1")
    return found


def _one(tables: TableEnvironment, text: str) -> Any:
    with tables.execute_sql(text).collect() as rows:
        return next(iter(rows))[0]


def test_a_function_of_a_database_does_not_hide_one_of_sql(tables: TableEnvironment) -> None:
    tables.create_temporary_function("upper", shout)
    assert _one(tables, "SELECT upper('a')") == "A"
    assert _one(tables, "SELECT default_database.`upper`('a')") == "a!"


def test_a_system_function_does(tables: TableEnvironment) -> None:
    tables.create_temporary_system_function("upper", shout)
    assert _one(tables, "SELECT UPPER('a')") == "a!"


class _Counts(AggregateFunction[int, Row]):
    def create_accumulator(self) -> Row:
        return Row(0)

    def get_value(self, accumulator: Row) -> int:
        return int(accumulator[0])

    def accumulate(self, accumulator: Row, *_: object) -> None:
        accumulator[0] += 1

    def get_accumulator_type(self) -> str:
        return "ROW<f0 BIGINT>"

    def get_result_type(self) -> str:
        return "BIGINT"


@pytest.mark.parametrize(
    ("size", "changes"), [(1, ["+I 1", "-U 1", "+U 2", "-U 2", "+U 3"]), (1000, ["+I 3"])]
)
def test_bundles_of_one_line_have_a_result_each(
    tables: TableEnvironment, size: int, changes: list[str]
) -> None:
    tables.get_config().set("python.fn-execution.bundle.size", str(size))
    tables.create_temporary_system_function("counts", _Counts())
    tables.create_temporary_view("given", tables.from_elements([(1,), (2,), (3,)], ["a"]))
    with tables.execute_sql("SELECT counts(a) FROM given").collect() as rows:
        assert [f"{row.get_row_kind()} {row[0]}" for row in rows] == changes


def test_an_iterator_of_a_map_view_removes_what_it_is_at() -> None:
    view = MapView()
    view.put_all({"a": 1, "b": 2, "c": 3})
    keys: Any = iter(view.keys())
    assert next(keys) == "a"
    keys.remove()
    with pytest.raises(InvalidArgumentError, match="nothing to remove"):
        keys.remove()
    assert list(keys) == ["b", "c"]
    items: Any = iter(view.items())
    assert next(items) == ("b", 2)
    items.remove()
    assert list(view.values()) == [3]


def test_a_table_of_the_old_csv_format_passes_over_cells_that_it_has_no_columns_for(
    tables: TableEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "given.csv").write_text("1,x,more,cells\n", encoding="utf-8")
    tables.execute_sql(
        "CREATE TABLE given (a INT, b STRING) WITH ('connector.type' = 'filesystem', "
        f"'format.type' = 'csv', 'connector.path' = '{tmp_path}')"
    )
    assert _one(tables, "SELECT b FROM given") == "x"
