"""Tables from their first line to their result, on the local host."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common.types import Row
from headrace.errors import HeadraceError, InvalidArgumentError
from headrace.table import (
    AggregateFunction,
    DataTypes,
    ExplainDetail,
    Schema,
    Table,
    TableAggregateFunction,
    TableDescriptor,
    TableEnvironment,
)
from headrace.table.expressions import (
    CURRENT_ROW,
    UNBOUNDED_ROW,
    call,
    col,
    lit,
    range_,
    row,
    row_interval,
    with_columns,
    without_columns,
)
from headrace.table.udf import udaf, udf, udtaf, udtf
from headrace.table.window import Over, Tumble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Rows = Callable[..., list[str]]


@pytest.fixture
def numbers(t_env: TableEnvironment) -> Table:
    return t_env.from_elements([(1, "a"), (2, "b"), (1, "c")], ["i", "s"])


def test_elements_keep_their_order_and_types(t_env: TableEnvironment, rows: Rows) -> None:
    table = t_env.from_elements(
        [(1, Decimal("1.5"), datetime.date(2024, 1, 1), [1, 2], {"k": 1.0}, Row(a=1))],
        DataTypes.ROW(
            [
                DataTypes.FIELD("i", DataTypes.INT()),
                DataTypes.FIELD("d", DataTypes.DECIMAL(5, 2)),
                DataTypes.FIELD("day", DataTypes.DATE()),
                DataTypes.FIELD("xs", DataTypes.ARRAY(DataTypes.INT())),
                DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.DOUBLE())),
                DataTypes.FIELD("r", DataTypes.ROW([DataTypes.FIELD("a", DataTypes.BIGINT())])),
            ]
        ),
    )
    found = next(iter(table.execute().collect()))
    assert list(found) == [
        1, Decimal("1.50"), datetime.date(2024, 1, 1), [1, 2], {"k": 1.0}, Row(1),
    ]  # fmt: skip


def test_elements_that_do_not_fit_are_refused(t_env: TableEnvironment) -> None:
    with pytest.raises((TypeError, ValueError)):
        t_env.from_elements([("x",)], DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]))


def test_elements_may_be_expressions(t_env: TableEnvironment, rows: Rows) -> None:
    table = t_env.from_elements([row(1, "a"), row(2, "b")], ["x", "y"])
    assert rows(table) == ["+I(1, 'a')", "+I(2, 'b')"]
    with pytest.raises(InvalidArgumentError):
        t_env.from_elements([row(1, "a"), (2, "b")])


def test_select_where_and_columns(numbers: Table, rows: Rows) -> None:
    chosen = numbers.where(col("i") > 1).select((col("i") * 10).alias("x"), numbers.s)
    assert rows(chosen) == ["+I(20, 'b')"]
    assert rows(numbers.add_columns((col("i") + 1).alias("j")).drop_columns(col("s")))[0] == (
        "+I(1, 2)"
    )
    renamed = numbers.rename_columns(col("i").alias("n"))
    assert renamed.get_schema().get_field_names() == ["n", "s"]
    assert numbers.alias("x", "y").get_schema().get_field_names() == ["x", "y"]
    assert numbers.select(without_columns(col("i"))).get_schema().get_field_names() == ["s"]
    assert numbers.select(with_columns(range_("i", "s"))).get_schema().get_field_count() == 2


def test_a_column_that_is_not_there_is_named(numbers: Table) -> None:
    with pytest.raises(HeadraceError, match="nope"):
        numbers.select(col("nope"))
    with pytest.raises(AttributeError, match="no column named 'nope'"):
        numbers.nope  # noqa: B018


def test_groups_give_updates(numbers: Table, rows: Rows) -> None:
    counted = numbers.group_by(col("i")).select(col("i"), col("s").count.alias("n"))
    assert rows(counted) == ["+I(1, 1)", "+I(2, 1)", "-U(1, 1)", "+U(1, 2)"]


def test_in_batch_mode_only_the_end_counts(batch_env: TableEnvironment, rows: Rows) -> None:
    table = batch_env.from_elements([(1, "a"), (2, "b"), (1, "c")], ["i", "s"])
    counted = table.group_by(col("i")).select(col("i"), col("s").count)
    assert sorted(rows(counted)) == ["+I(1, 2)", "+I(2, 1)"]


def test_sql_reads_tables_of_the_program(
    t_env: TableEnvironment, numbers: Table, rows: Rows
) -> None:
    assert rows(t_env.sql_query(f"SELECT MAX(i) AS m FROM {numbers} WHERE s <> 'b'")) == ["+I(1,)"]
    assert str(numbers) == str(numbers)  # one name, however often it is asked
    t_env.create_temporary_view("v", numbers)
    assert rows(t_env.from_path("v").where(col("s") == "b")) == ["+I(2, 'b')"]


def test_joins_and_set_operations(t_env: TableEnvironment, numbers: Table, rows: Rows) -> None:
    other = t_env.from_elements([(1, "x")], ["k", "v"])
    joined = numbers.join(other, col("i") == col("k")).select(col("s"), col("v"))
    assert sorted(rows(joined)) == ["+I('a', 'x')", "+I('c', 'x')"]
    assert len(rows(numbers.union_all(numbers))) == 6
    with pytest.raises(HeadraceError, match="both tables have a column"):
        numbers.join(numbers, col("i") == col("i"))


def test_functions_of_users(t_env: TableEnvironment, numbers: Table, rows: Rows) -> None:
    twice = udf(lambda i: i * 2, result_type=DataTypes.BIGINT(), name="twice")
    assert rows(numbers.select(twice(col("i")))) == ["+I(2,)", "+I(4,)", "+I(2,)"]
    t_env.create_temporary_function("twice", twice)
    assert rows(numbers.select(call("twice", col("i")))) == ["+I(2,)", "+I(4,)", "+I(2,)"]
    assert rows(t_env.sql_query("SELECT twice(21)")) == ["+I(42,)"]


def test_rows_become_columns(numbers: Table, rows: Rows) -> None:
    pair = DataTypes.ROW(
        [DataTypes.FIELD("n", DataTypes.BIGINT()), DataTypes.FIELD("t", DataTypes.STRING())]
    )
    shift = udf(lambda line: Row(line.i + 1, line.s * 2), result_type=pair)
    assert rows(numbers.map(shift)) == ["+I(2, 'aa')", "+I(3, 'bb')", "+I(2, 'cc')"]
    assert numbers.map(shift).get_schema().get_field_names() == ["n", "t"]


def test_table_functions(numbers: Table, rows: Rows) -> None:
    @udtf(result_types=[DataTypes.BIGINT(), DataTypes.STRING()])  # type: ignore[untyped-decorator]
    def repeat(i: int, s: str) -> Iterator[tuple[int, str]]:
        for number in range(i):
            yield number, s

    joined = numbers.join_lateral(repeat(col("i"), col("s")).alias("n", "t"))
    assert rows(joined.select(col("n"), col("t"))) == [
        "+I(0, 'a')", "+I(0, 'b')", "+I(1, 'b')", "+I(0, 'c')",
    ]  # fmt: skip
    assert len(rows(numbers.flat_map(repeat(col("i"), col("s"))))) == 4


class Total(AggregateFunction[int, list[int]]):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0]

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> str:
        return "BIGINT"

    def get_accumulator_type(self) -> str:
        return "ARRAY<BIGINT>"


class Top2(TableAggregateFunction[Row, list[Any]]):
    def create_accumulator(self) -> list[Any]:
        return [[]]

    def accumulate(self, accumulator: list[Any], *args: Any) -> None:
        accumulator[0] = sorted([*accumulator[0], args[0][0]], reverse=True)[:2]

    def emit_value(self, accumulator: list[Any]) -> Iterator[Row]:
        for value in accumulator[0]:
            yield Row(value)


def test_aggregate_functions(batch_env: TableEnvironment, rows: Rows) -> None:
    table = batch_env.from_elements([(1, 10), (1, 20), (2, 5)], ["k", "n"])
    total = udaf(Total())
    assert sorted(rows(table.group_by(col("k")).select(col("k"), total(col("n"))))) == [
        "+I(1, 30)", "+I(2, 5)",
    ]  # fmt: skip
    named = table.group_by(col("k")).aggregate(total(col("n")).alias("t"))
    assert sorted(rows(named.select(col("t"), col("k")))) == ["+I(30, 1)", "+I(5, 2)"]


def test_table_aggregate_functions(batch_env: TableEnvironment, rows: Rows) -> None:
    table = batch_env.from_elements([(5,), (7,), (6,)], ["n"])
    result = DataTypes.ROW([DataTypes.FIELD("top", DataTypes.BIGINT())])
    top = udtaf(
        Top2(), result_type=result, accumulator_type=DataTypes.ARRAY(DataTypes.BIGINT()), name="top"
    )
    assert sorted(rows(table.flat_aggregate(top).select(col("top")))) == ["+I(6,)", "+I(7,)"]


def test_windows_of_time(t_env: TableEnvironment, rows: Rows) -> None:
    t_env.execute_sql(
        "CREATE TABLE g (id INT, ts AS TO_TIMESTAMP_LTZ(id, 0), WATERMARK FOR ts AS ts) WITH ("
        "'connector' = 'datagen', 'number-of-rows' = '5', 'fields.id.kind' = 'sequence', "
        "'fields.id.start' = '1', 'fields.id.end' = '5')"
    )
    table = t_env.from_path("g")
    windowed = table.window(Tumble.over(lit(2).seconds).on(col("ts")).alias("w"))
    counted = windowed.group_by(col("w")).select(col("w").start, col("id").count)
    assert [line[-3:-1] for line in rows(counted)] == [" 1", " 2", " 2"]
    with pytest.raises(InvalidArgumentError, match="must name the window"):
        windowed.group_by(col("id"))


def test_lines_around_each(t_env: TableEnvironment, rows: Rows) -> None:
    t_env.execute_sql(
        "CREATE TABLE g (id INT, p AS PROCTIME()) WITH ("
        "'connector' = 'datagen', 'number-of-rows' = '4', 'fields.id.kind' = 'sequence', "
        "'fields.id.start' = '1', 'fields.id.end' = '4')"
    )
    over = Over.order_by(col("p")).preceding(row_interval(1)).following(CURRENT_ROW).alias("w")
    summed = t_env.from_path("g").over_window(over).select(col("id").sum.over(col("w")))
    assert rows(summed) == ["+I(1,)", "+I(3,)", "+I(5,)", "+I(7,)"]
    with pytest.raises(InvalidArgumentError, match="both of lines, or both of time"):
        Over.order_by(col("p")).preceding(lit(1).days).following(CURRENT_ROW).alias("w")
    assert str(UNBOUNDED_ROW) == "UNBOUNDED_ROW"


def test_inserts_write_what_a_table_takes(t_env: TableEnvironment, numbers: Table) -> None:
    t_env.execute_sql("CREATE TABLE sink (i BIGINT, s STRING) WITH ('connector' = 'blackhole')")
    result = numbers.execute_insert("sink")
    assert result.get_table_schema().get_field_names() == ["default_catalog.default_database.sink"]
    assert [tuple(line) for line in result.collect()] == [(-1,)]
    both = t_env.create_statement_set()
    both.add_insert("sink", numbers).add_insert_sql("INSERT INTO sink (s) VALUES ('x')")
    assert both.execute().get_table_schema().get_field_names() == [
        "default_catalog.default_database.sink_1",
        "default_catalog.default_database.sink_2",
    ]
    with pytest.raises(InvalidArgumentError, match="empty"):
        both.execute()


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        ("SELECT 'x', 's'", "Incompatible types for sink column 'i' at position 0"),
        ("SELECT 1", "Different number of columns"),
    ],
)
def test_inserts_that_do_not_fit_are_refused(
    t_env: TableEnvironment, query: str, cause: str
) -> None:
    t_env.execute_sql("CREATE TABLE sink (i BIGINT, s STRING) WITH ('connector' = 'blackhole')")
    with pytest.raises(InvalidArgumentError, match=cause):
        t_env.execute_sql(f"INSERT INTO sink {query}")


def test_descriptors_stand_for_tables(t_env: TableEnvironment) -> None:
    schema = Schema.new_builder().column("a", DataTypes.STRING()).build()
    source = TableDescriptor.for_connector("datagen").option("number-of-rows", 3).schema(schema)
    sink = TableDescriptor.for_connector("blackhole").schema(schema).build()
    pipeline = t_env.from_descriptor(source.build()).insert_into(sink)
    assert pipeline.get_sink_identifier() is None
    pipeline.execute().wait()


def test_pandas_both_ways(t_env: TableEnvironment, numbers: Table) -> None:
    pandas = pytest.importorskip("pandas")
    frame = numbers.to_pandas()
    assert frame.to_dict("list") == {"i": [1, 2, 1], "s": ["a", "b", "c"]}
    back = t_env.from_pandas(frame, ["x", "y"])
    assert back.get_schema().get_field_names() == ["x", "y"]
    counted = back.group_by(col("x")).select(col("x"), col("y").count.alias("n")).to_pandas()
    assert sorted(map(tuple, counted.values.tolist())) == [(1, 2), (2, 1)]
    assert isinstance(counted, pandas.DataFrame)


def test_print_draws_flinks_table(numbers: Table, capsys: pytest.CaptureFixture[str]) -> None:
    numbers.select(col("i"), col("s")).execute().print()
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("job ")]
    assert lines[:4] == [
        "+----+----------------------+--------------------------------+",
        "| op |                    i |                              s |",
        "+----+----------------------+--------------------------------+",
        "| +I |                    1 |                              a |",
    ]
    assert lines[-1] == "3 rows in set"


def test_explain_shows_plans_and_advice(numbers: Table) -> None:
    counted = numbers.group_by(col("i")).select(col("s").count)
    text = counted.explain(ExplainDetail.PLAN_ADVICE, ExplainDetail.JSON_EXECUTION_PLAN)
    assert "== Abstract Syntax Tree ==" in text
    assert "== Optimized Physical Plan With Advice ==" in text
    assert "table.exec.mini-batch.enabled" in text
    assert "== Physical Execution Plan ==" in text
    assert "No available advice..." in numbers.explain(ExplainDetail.PLAN_ADVICE)
