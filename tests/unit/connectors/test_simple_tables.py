"""datagen, print and blackhole as tables, on the local host."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pytest

from headrace.common.changes import Changes
from headrace.common.data_types import DataTypes
from headrace.connectors.tables import TABLE_CONNECTORS, connector_of
from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.rel.connected_tables import origin_of, target_of
from headrace.spi.table_connector import TableConnector, TableDefinition, TableMetadataColumn
from headrace.table import EnvironmentSettings, TableEnvironment
from table_runs import read, row_type, table, write

UTC = datetime.UTC
EVERYTHING = row_type(
    flag=DataTypes.BOOLEAN(),
    tiny=DataTypes.TINYINT(),
    n=DataTypes.INT(),
    big=DataTypes.BIGINT(),
    price=DataTypes.DECIMAL(5, 2),
    ratio=DataTypes.DOUBLE(),
    single=DataTypes.FLOAT(),
    fixed=DataTypes.CHAR(4),
    text=DataTypes.STRING(),
    short=DataTypes.VARCHAR(7),
    data=DataTypes.BYTES(),
    bin=DataTypes.BINARY(3),
    day=DataTypes.DATE(),
    clock=DataTypes.TIME(),
    ts=DataTypes.TIMESTAMP(3),
    ltz=DataTypes.TIMESTAMP_LTZ(3),
    months=DataTypes.INTERVAL(DataTypes.MONTH()),
    span=DataTypes.INTERVAL(DataTypes.SECOND(3)),
    arr=DataTypes.ARRAY(DataTypes.INT()),
    m=DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
    bag=DataTypes.MULTISET(DataTypes.INT()),
    nested=row_type(x=DataTypes.INT(), y=DataTypes.STRING()),
)


def test_random_lines_of_all_types() -> None:
    options = {
        "number-of-rows": "3",
        "fields.n.min": "5",
        "fields.n.max": "7",
        "fields.price.min": "1",
        "fields.price.max": "2",
        "fields.text.length": "10",
        "fields.short.var-len": "true",
        "fields.arr.length": "2",
        "fields.arr.element.max": "0",
        "fields.nested.x.min": "0",
        "fields.ts.max-past": "1 h",
    }
    definition = table("datagen", EVERYTHING, options=options)
    lines = [dict(zip(EVERYTHING.names, line, strict=True)) for line in read(definition)]
    assert len(lines) == 3
    now = datetime.datetime.now()
    for line in lines:
        assert 5 <= line["n"] <= 7
        assert decimal.Decimal("1.00") <= line["price"] <= decimal.Decimal("2.00")
        assert (len(line["text"]), len(line["fixed"]), len(line["data"])) == (10, 4, 100)
        assert 1 <= len(line["short"]) <= 7
        assert len(line["arr"]) == 2
        assert max(line["arr"]) <= 0
        assert line["nested"][0] >= 0
        assert now - datetime.timedelta(hours=1, minutes=5) <= line["ts"]
    again = read(definition)
    steady = [i for i, name in enumerate(EVERYTHING.names) if name not in ("clock", "ts", "ltz")]
    assert [[line[i] for i in steady] for line in again] == [
        [list(line.values())[i] for i in steady] for line in lines
    ]


def test_sequences_end_the_table_and_nulls_come_by_rate() -> None:
    columns = row_type(
        a=DataTypes.INT(), b=DataTypes.STRING(), c=DataTypes.DECIMAL(4, 1), d=DataTypes.INT()
    )
    options = {
        "fields.a.kind": "sequence", "fields.a.start": "3", "fields.a.end": "5",
        "fields.b.kind": "sequence", "fields.b.start": "1", "fields.b.end": "9",
        "fields.c.kind": "sequence", "fields.c.start": "1", "fields.c.end": "9",
        "fields.d.null-rate": "1",
    }  # fmt: skip
    definition = table("datagen", columns, options=options)
    assert origin_of(definition).bounded
    one = decimal.Decimal("1.0")
    assert read(definition) == [
        (3, "1", one, None),
        (4, "2", one + 1, None),
        (5, "3", one + 2, None),
    ]
    endless = table("datagen", columns, options={"rows-per-second": "1000000"})
    assert not origin_of(endless).bounded


@pytest.mark.parametrize(
    ("options", "message", "fix"),
    [
        ({"row-per-second": "1"}, "no option 'row-per-second'", "'rows-per-second'"),
        ({"fields.a.mim": "1"}, "no option 'fields.a.mim'", "'fields.a.min'"),
        ({"fields.a.kind": "sequence"}, "needs the option 'fields.a.start'", "fields.a.start"),
        ({"fields.a.kind": "sequential"}, "is 'sequential'", "'sequence'"),
        ({"fields.a.min": "2", "fields.a.max": "1"}, "minimum of 2", "fields.a.max"),
        ({"rows-per-second": "many"}, "rows-per-second is 'many'", "10000"),
    ],
)
def test_options_are_checked(options: dict[str, str], message: str, fix: str) -> None:
    definition = table("datagen", row_type(a=DataTypes.INT()), options=options)
    with pytest.raises(ConfigurationError, match=message) as caught:
        origin_of(definition)
    assert fix in str(caught.value.fix)


def test_print_writes_as_flink_does(capsys: pytest.CaptureFixture[str]) -> None:
    columns = row_type(
        a=DataTypes.INT(), b=DataTypes.STRING(), c=DataTypes.DECIMAL(10, 2),
        c2=DataTypes.DECIMAL(38, 18), d=DataTypes.DATE(), e=DataTypes.TIME(),
        f=DataTypes.TIMESTAMP(3), g=DataTypes.TIMESTAMP(6), h=DataTypes.TIMESTAMP_LTZ(3),
        i=DataTypes.ARRAY(DataTypes.INT()), j=DataTypes.MAP(DataTypes.STRING(), DataTypes.DOUBLE()),
        k=row_type(x=DataTypes.INT(), y=DataTypes.STRING()), l=DataTypes.BYTES(),
        m=DataTypes.BOOLEAN(), n=DataTypes.DOUBLE(), o=DataTypes.FLOAT(),
        q=DataTypes.TIMESTAMP(3), r=DataTypes.MULTISET(DataTypes.STRING()),
        s=DataTypes.ARRAY(row_type(z=DataTypes.TIMESTAMP(3))), tt=DataTypes.TIMESTAMP_LTZ(9),
    )  # fmt: skip
    moment = datetime.datetime(2020, 1, 2, 3, 4)
    line = (
        1, "a", decimal.Decimal("1.50"), decimal.Decimal("0E-18"), datetime.date(2020, 1, 2),
        datetime.time(10), datetime.datetime(2020, 1, 2),
        moment.replace(second=5, microsecond=123450),
        datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, UTC), [1, None], {"k": 1e10}, (1, None),
        b"\x01\xff", True, 1e-5, 1.1, moment.replace(second=5, microsecond=120000), {"x": 1},
        [(moment,)], datetime.datetime(1970, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    definition = table("print", columns, options={"print-identifier": "id"})
    write(definition, [(*line, 0), (*line, 1)], changes=Changes.ALL)
    # what PyFlink 2.3 prints for the same values
    shown = (
        "[1, a, 1.50, 0E-18, 2020-01-02, 10:00, 2020-01-02T00:00, 2020-01-02T03:04:05.123450, "
        "1970-01-01T00:00:01.500Z, [1, null], {k=1.0E10}, +I[1, null], [1, -1], true, 1.0E-5, 1.1, "
        "2020-01-02T03:04:05.120, {x=1}, [+I[2020-01-02T03:04]], 1970-01-01T00:00:00Z]"
    )
    assert capsys.readouterr().out == f"id> +I{shown}\nid> -U{shown}\n"


def test_print_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    definition = table("print", row_type(a=DataTypes.INT()), options={"standard-error": "true"})
    write(definition, [(1,)])
    assert "+I[1]\n" in capsys.readouterr().err


def test_blackhole_takes_everything() -> None:
    definition = table("blackhole", row_type(a=DataTypes.INT()))
    assert target_of(definition).accepts(Changes.ALL) is Changes.ALL
    write(definition, [(1, 0), (1, 3)], changes=Changes.ALL)
    with pytest.raises(UnsupportedStepError, match="'blackhole' cannot be read"):
        origin_of(definition)


def test_all_connectors_can_be_made() -> None:
    for name in TABLE_CONNECTORS.names():
        connector = TABLE_CONNECTORS.new(name)
        assert isinstance(connector, TableConnector)
        assert connector.name == name
        assert connector.summary()


def test_a_connector_that_is_not_there_is_told() -> None:
    columns = row_type(a=DataTypes.INT())
    with pytest.raises(ConfigurationError, match=r"no table connector 'datagenn'") as caught:
        connector_of(table("datagenn", columns))
    assert caught.value.fix == "did you mean 'datagen'?"
    with pytest.raises(ConfigurationError, match="has no connector"):
        connector_of(TableDefinition("t", columns, {}))


def test_metadata_that_a_connector_does_not_have_is_told() -> None:
    metadata: Any = (TableMetadataColumn("ts", "timestamp", DataTypes.TIMESTAMP_LTZ(3)),)
    definition = table("datagen", row_type(a=DataTypes.INT()), metadata=metadata)
    with pytest.raises(ConfigurationError, match="no metadata 'timestamp'"):
        origin_of(definition)


def test_a_generated_table_that_ends_can_be_read_in_batch_mode() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("headrace.execution.host", "local")
    t_env.execute_sql("CREATE TABLE s (a INT) WITH ('connector'='datagen', 'number-of-rows'='3')")
    assert [tuple(r) for r in t_env.execute_sql("SELECT COUNT(*) FROM s").collect()] == [(3,)]
