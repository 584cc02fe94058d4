"""PyFlink's own table tests that do not pass, and why: part of the name -> the reason.

Out: `reason(name)`.  A test of this list that begins to pass is a FAIL until its
entry is gone.  Next: pyflink_table_tests.py
"""

from __future__ import annotations

_JAVA_CLASS = "registers a function that is a Java class"
_PLAN_TEXT = "looks for Flink's names in a plan; EXPLAIN has headrace's"
_OLD = "descriptors of Flink's old connectors, which no connector takes any more"
_JAVA_LATER = "would go on with assertions about Java objects"
_NEXT = "of the Flink after 2.3"

GAPS: dict[str, str] = {
    "test_correlate.": _JAVA_CLASS,
    "test_table_environment_api.TableEnvironmentTest.test_create_and_drop_java": _JAVA_CLASS,
    "test_table_environment_api.TableEnvironmentTest.test_register_functions": _JAVA_CLASS,
    "test_table_environment_api.TableEnvironmentTest.test_register_java": _JAVA_CLASS,
    "test_descriptor.": _OLD,
    "test_sql.StreamSqlTests.test_sql_ddl": _PLAN_TEXT,
    "test_udaf.StreamTableAggregateTests.test_using_decorator": _PLAN_TEXT,
    "test_window.BatchTableWindowTests": _JAVA_LATER,
    "test_table_environment_api.TableEnvironmentTest.test_table_from_descriptor": _JAVA_LATER,
    "test_table_environment_api.TableEnvironmentTest.test_unload_": (
        "the module core cannot be unloaded: queries need its functions"
    ),
    "test_table_schema.TableSchemaTests.test_copy": "sets the Java object of a schema to None",
    "test_types.DataSerializerTests.test_java_": "PyFlink's own way to talk to its JVM",
    "test_types.TypesTests.test_array_types": "str of a type is its SQL text, with its length",
    "test_types.TypesTests.test_infer_schema": (
        "repr of a ROW says whether it is nullable, as since the Flink after 2.3"
    ),
    "test_expression.PyFlinkBatchExpressionTests.test_expression": (
        "calls have SQL's names in the text of an expression, as since the Flink after 2.3"
    ),
    "test_table_descriptor.TableDescriptorTest.test_to_string": (
        "options stand in the order in which they were given, not in that of a Java hash map"
    ),
    "test_table_environment_api.DataStreamConversionTestCases.test_from_data_stream_atomic": (
        "a pickled value is RAW; there is no Java class [B to name"
    ),
    "test_calc.StreamTableCalcTests.test_from_element": (
        "casts an interval to INT, and has a type of the user's in Python only"
    ),
    "_pandas_udf.BatchPandasUDFITTests.test_invalid_pandas": (
        "the same error, with the lines of a batch where Flink has those of an Arrow batch"
    ),
    "_pandas_udf.StreamPandasUDFITTests.test_invalid_pandas": (
        "the same error, with the lines of a batch where Flink has those of an Arrow batch"
    ),
    ".test_overwrite_builtin_function": (
        "hides + of the Table API behind a function called plus; here + stays what it is"
    ),
    "test_udf.PyFlinkStreamUserDefinedFunctionTests.test_scalar_function": (
        "reads a variable that Flink sets in its Python processes"
    ),
    "test_udf.PyFlinkBatchUserDefinedFunctionTests.test_scalar_function": (
        "reads a variable that Flink sets in its Python processes"
    ),
    ".test_udf_with_constant_params": (
        "wants 1.05 for CAST(1.05 AS DECIMAL), which is DECIMAL(10, 0); a function gets 1 here"
    ),
    "test_compiled_plan.CompiledPlanTest.test_compile_plan_sql": "compares Flink's own JSON",
    "test_literal.LiteralITCase.": _NEXT,
    "test_lit_rejects_binary_scalar": _NEXT,
    "test_table_environment_api.ArrowTimestampConversionTests.": _NEXT,
}


def reason(name: str) -> str | None:
    """Why a test does not pass; None if it should."""
    return next((why for part, why in GAPS.items() if part in name), None)
