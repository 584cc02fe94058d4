"""The reader of Flink's table programs, on a program of our own."""

from __future__ import annotations

from decimal import Decimal

from flink_programs.java_syntax import read_class
from flink_programs.java_values import Values
from flink_programs.runner import FAIL, PASS, expected_text, final_texts, judge
from flink_programs.steps import JavaRow, Program

TEXT = """
package some.where;
import static some.where.Options.KEY;

/** A program: "with" quotes // and signs. */
@Internal(value = "x")
public class OwnTestPrograms {
    private static final Row[] ROWS = {Row.of("a", 1L), Row.ofKind(RowKind.INSERT, "b", 2L)};
    static final String SUM = "SELECT name, SUM(n)" + " FROM %s ";

    private static SourceTestStep source(final String name, Row... rows) {
        String schema = "name STRING";
        if (rows.length > 0) {
            schema = schema + ", n BIGINT";
        }
        return SourceTestStep.newBuilder(name).addSchema(schema).producedValues(rows).build();
    }

    static final TableTestProgram GROUPED =
            TableTestProgram.of("grouped", "sums by name")
                    .setupTableSource(source("t", ROWS))
                    .setupTableSink(
                            SinkTestStep.newBuilder("sink_t")
                                    .addSchema("name STRING", "n BIGINT")
                                    .consumedValues("+I[a, 1]", "+I[b, %s]")
                                    .build())
                    .runSql(String.format("INSERT INTO sink_t " + SUM + "GROUP BY name", "t"))
                    .build();

    static final BigDecimal NUMBER = new BigDecimal("1.50");
    static final Function<String, String> TWICE = text -> text + text;
    static final String TWO = TWICE.apply("x");

    public static class Ignored { int field = 1; }
}
"""


def _values(last: str) -> Values:
    return Values(read_class(TEXT.replace("[b, %s]", f"[b, {last}]")), None)


def test_constants_methods_and_lambdas_are_computed() -> None:
    values = _values("2")
    assert values.field("ROWS") == [JavaRow(["a", 1]), JavaRow(["b", 2])]
    assert values.field("NUMBER") == Decimal("1.50")
    assert values.field("TWO") == "xx"
    program = values.field("GROUPED")
    assert isinstance(program, Program)
    assert program.steps[-1] == (
        "runSql",
        ("INSERT INTO sink_t SELECT name, SUM(n) FROM t GROUP BY name",),
    )
    assert program.tables("setupTableSource")[0].schema == ["name STRING, n BIGINT"]


def test_a_program_is_judged() -> None:
    assert judge(_values("2").field("GROUPED")).word == PASS
    wrong = judge(_values("3").field("GROUPED"))
    assert wrong.word == FAIL
    assert "missing +I[b, 3], instead +I[b, 2]" in wrong.reason


def test_expected_rows_have_javas_texts() -> None:
    row = JavaRow([None, True, [1, 2], {"k": 1.0}, b"\xff", JavaRow(["x"])], 2)
    assert expected_text(row) == "+U[null, true, [1, 2], {k=1.0}, [-1], +I[x]]"


def test_a_changelog_leaves_a_table() -> None:
    changes = ["+I[a, 1]", "-U[a, 1]", "+U[a, 2]", "+I[b, 1]", "-D[b, 1]"]
    assert final_texts(changes, ()) == ["+I[a, 2]"]
    assert final_texts(["+I[a, 1]", "+U[a, 2]"], (0,)) == ["+I[a, 2]"]
