"""What a table demands of the lines that are written into it: NOT NULL, and lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import ConfigurationError, HeadraceError
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.common.data_types import DataType

WRITE = "INSERT INTO kept SELECT * FROM given"


@pytest.fixture
def written(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Writes two lines into a table of these columns, and gives what came out of it."""

    def write(
        columns: str, b: DataType, rows: list[tuple[object, ...]], **options: str
    ) -> list[str]:
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        t_env.get_config().set("headrace.execution.host", "local")
        t_env.get_config().set("parallelism.default", "1")
        for name, value in options.items():
            t_env.get_config().set(f"table.exec.sink.{name.replace('_', '-')}", value)
        # lines that do not keep what their type says, as outside systems give them
        fields = [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", b)]
        given = t_env.from_elements(rows, DataTypes.ROW(fields), verify_schema=False)
        t_env.create_temporary_view("given", given)
        t_env.execute_sql(f"CREATE TABLE kept ({columns}) WITH ('connector' = 'print')")
        t_env.execute_sql(WRITE).wait()
        return [line for line in capsys.readouterr().out.splitlines() if "+I" in line]

    return write


TEXTS: list[tuple[object, ...]] = [(1, "a"), (None, "bcde")]


def test_null_in_a_column_without_null_fails_the_job(written: Callable[..., list[str]]) -> None:
    with pytest.raises(HeadraceError, match=r"(?s)column 'a' is NOT NULL.*enforcer' = 'DROP'"):
        written("a INT NOT NULL, b STRING", DataTypes.STRING(), TEXTS)


def test_such_lines_can_be_left_out(written: Callable[..., list[str]]) -> None:
    found = written("a INT NOT NULL, b STRING", DataTypes.STRING(), TEXTS, not_null_enforcer="DROP")
    assert found == ["+I[1, a]"]


def test_lengths_are_not_looked_at_by_default(written: Callable[..., list[str]]) -> None:
    found = written("a INT, b VARCHAR(2)", DataTypes.VARCHAR(2), TEXTS)
    assert found == ["+I[1, a]", "+I[null, bcde]"]


def test_texts_can_be_cut_and_padded(written: Callable[..., list[str]]) -> None:
    trim = {"type_length_enforcer": "TRIM_PAD"}
    found = written("a INT, b CHAR(3)", DataTypes.CHAR(3), TEXTS, **trim)
    assert found == ["+I[1, a  ]", "+I[null, bcd]"]
    found = written("a INT, b VARCHAR(2)", DataTypes.VARCHAR(2), TEXTS, **trim)
    assert found == ["+I[1, a]", "+I[null, bc]"]


def test_texts_that_are_too_long_can_fail_the_job(written: Callable[..., list[str]]) -> None:
    with pytest.raises(HeadraceError, match="takes up to 2 characters, but 'bcde'"):
        written("a INT, b VARCHAR(2)", DataTypes.VARCHAR(2), TEXTS, type_length_enforcer="ERROR")


def test_bytes_have_lengths_too(written: Callable[..., list[str]]) -> None:
    trim = {"type_length_enforcer": "TRIM_PAD"}
    found = written("a INT, b BINARY(3)", DataTypes.BINARY(3), [(1, b"\1\2"), (2, b"1234")], **trim)
    assert found == ["+I[1, [1, 2, 0]]", "+I[2, [49, 50, 51]]"]


def test_what_the_options_do_not_know_is_refused(written: Callable[..., list[str]]) -> None:
    with pytest.raises(ConfigurationError, match="none of its values"):
        written("a INT, b STRING", DataTypes.STRING(), TEXTS, not_null_enforcer="sometimes")
    with pytest.raises(ConfigurationError, match="expected one of IGNORE, ROWS"):
        written("a INT, b STRING", DataTypes.STRING(), TEXTS, nested_constraint_enforcer="ERROR")


# --- within columns ------------------------------------------------------------------------------

ADDRESS = DataTypes.ROW(
    [DataTypes.FIELD("city", DataTypes.STRING()), DataTypes.FIELD("zip", DataTypes.STRING())]
)
ADDRESSES: list[tuple[object, ...]] = [(1, ("Bonn", "53111")), (2, (None, "1"))]
STRICT = "a INT, b ROW<city STRING NOT NULL, zip STRING>"


def test_fields_of_rows_are_not_looked_at_by_default(written: Callable[..., list[str]]) -> None:
    assert written(STRICT, ADDRESS, ADDRESSES) == ["+I[1, +I[Bonn, 53111]]", "+I[2, +I[null, 1]]"]


def test_a_null_in_a_row_fails_the_job(written: Callable[..., list[str]]) -> None:
    with pytest.raises(HeadraceError, match=r"'b\.city' is NOT NULL"):
        written(STRICT, ADDRESS, ADDRESSES, nested_constraint_enforcer="ROWS")


def test_lines_with_a_null_in_a_row_can_be_left_out(written: Callable[..., list[str]]) -> None:
    found = written(
        STRICT,
        ADDRESS,
        [*ADDRESSES, (3, None)],
        nested_constraint_enforcer="rows",
        not_null_enforcer="DROP",
    )
    assert found == ["+I[1, +I[Bonn, 53111]]", "+I[3, null]"]


def test_texts_in_rows_are_cut_and_padded(written: Callable[..., list[str]]) -> None:
    found = written(
        "a INT, b ROW<city VARCHAR(2), zip CHAR(3)>",
        DataTypes.ROW(
            [DataTypes.FIELD("city", DataTypes.STRING()), DataTypes.FIELD("zip", DataTypes.CHAR(3))]
        ),
        ADDRESSES,
        nested_constraint_enforcer="ROWS",
        type_length_enforcer="TRIM_PAD",
    )
    assert found == ["+I[1, +I[Bo, 531]]", "+I[2, +I[null, 1  ]]"]


def test_elements_are_looked_at_if_asked_for(written: Callable[..., list[str]]) -> None:
    rows: list[tuple[object, ...]] = [(1, ["x", None])]
    kind = DataTypes.ARRAY(DataTypes.STRING())
    columns = "a INT, b ARRAY<STRING NOT NULL>"
    assert written(columns, kind, rows, nested_constraint_enforcer="ROWS") == ["+I[1, [x, null]]"]
    with pytest.raises(HeadraceError, match=r"'b\[element\]' is NOT NULL"):
        written(columns, kind, rows, nested_constraint_enforcer="ROWS_AND_COLLECTIONS")


def test_values_of_maps_are_looked_at_if_asked_for(written: Callable[..., list[str]]) -> None:
    kind = DataTypes.MAP(DataTypes.STRING(), DataTypes.VARCHAR(2))
    with pytest.raises(HeadraceError, match=r"'b\[value\]' takes up to 2 characters, but 'long'"):
        written(
            "a INT, b MAP<STRING, VARCHAR(2)>",
            kind,
            [(1, {"k": "ok"}), (2, {"k": "long"})],
            nested_constraint_enforcer="ROWS_AND_COLLECTIONS",
            type_length_enforcer="ERROR",
        )


def test_elements_cannot_be_cut(written: Callable[..., list[str]]) -> None:
    with pytest.raises(ConfigurationError, match="cannot be cut and padded"):
        written(
            "a INT, b STRING",
            DataTypes.STRING(),
            TEXTS,
            nested_constraint_enforcer="ROWS_AND_COLLECTIONS",
            type_length_enforcer="TRIM_PAD",
        )
