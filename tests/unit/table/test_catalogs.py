"""Catalogs: what is there, what is not, and what hides what."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigurationError, UnsupportedStepError
from headrace.table import DataTypes, Schema, TableDescriptor, TableEnvironment
from headrace.table.catalog import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    GenericInMemoryCatalog,
    ObjectIdentifier,
    ObjectPath,
)
from headrace.table.udf import udf
from headrace.util import exceptions as x

BLACKHOLE = (
    TableDescriptor.for_connector("blackhole")
    .schema(Schema.new_builder().column("a", DataTypes.INT()).build())
    .build()
)


@pytest.fixture
def catalog() -> GenericInMemoryCatalog:
    made = GenericInMemoryCatalog("c")
    made.create_database("db", CatalogDatabase({"k": "v"}, "comment"), False)
    return made


def a_table(*keys: str) -> CatalogBaseTable:
    schema = Schema.new_builder().column("a", "INT").column("day", "STRING").build()
    return CatalogBaseTable.create_table(schema, list(keys), {"connector": "blackhole"})


def test_a_database_is_there_once(catalog: GenericInMemoryCatalog) -> None:
    catalog.create_database("db", CatalogDatabase({}), True)
    assert catalog.get_database("db").get_properties() == {"k": "v"}
    with pytest.raises(x.DatabaseAlreadyExistException):
        catalog.create_database("db", CatalogDatabase({}), False)
    with pytest.raises(x.DatabaseNotExistException, match="nope"):
        catalog.get_database("nope")


def test_a_database_with_tables_is_dropped_with_cascade_only(
    catalog: GenericInMemoryCatalog,
) -> None:
    catalog.create_table(ObjectPath("db", "t"), a_table(), False)
    with pytest.raises(x.DatabaseNotEmptyException):
        catalog.drop_database("db", False)
    catalog.drop_database("db", False, cascade=True)
    assert not catalog.table_exists(ObjectPath("db", "t"))


def test_tables_are_renamed_within_their_database(catalog: GenericInMemoryCatalog) -> None:
    one, other = ObjectPath("db", "one"), ObjectPath("db", "other")
    catalog.create_table(one, a_table(), False)
    catalog.rename_table(one, "other", False)
    assert catalog.list_tables("db") == ["other"]
    with pytest.raises(x.TableAlreadyExistException):
        catalog.create_table(other, a_table(), False)
    with pytest.raises(x.TableNotExistException):
        catalog.get_table(one)


def test_partitions_name_all_keys(catalog: GenericInMemoryCatalog) -> None:
    path, spec = ObjectPath("db", "t"), CatalogPartitionSpec({"day": "1"})
    catalog.create_table(path, a_table("day"), False)
    catalog.create_partition(path, spec, CatalogPartition({}), False)
    assert catalog.list_partitions(path) == [spec]
    with pytest.raises(x.PartitionSpecInvalidException):
        catalog.create_partition(path, CatalogPartitionSpec({"a": "1"}), CatalogPartition({}), True)
    with pytest.raises(x.PartitionAlreadyExistsException):
        catalog.create_partition(path, spec, CatalogPartition({}), False)


def test_functions_are_kept_by_name(catalog: GenericInMemoryCatalog) -> None:
    path = ObjectPath("db", "f")
    catalog.create_function(path, CatalogFunction.create_instance("my.f"), False)
    assert catalog.get_function(path).get_function_language() == "PYTHON"
    with pytest.raises(x.FunctionAlreadyExistException):
        catalog.create_function(path, CatalogFunction.create_instance("my.f"), False)


def test_paths_are_ordered_and_identifiers_quoted() -> None:
    assert sorted([ObjectPath("b", "a"), ObjectPath("a", "z")])[0] == ObjectPath.from_string("a.z")
    with pytest.raises(TypeError):
        ObjectPath("a", "b") < 3  # noqa: B015
    found = ObjectIdentifier.of("c", "d", "o`x")
    assert found.as_serializable_string() == "`c`.`d`.`o``x`"
    assert found.as_summary_string() == "c.d.o`x"


def test_a_temporary_table_hides_a_permanent_one(t_env: TableEnvironment) -> None:
    t_env.create_table("t", BLACKHOLE)
    wide = Schema.new_builder().column("a", "INT").column("b", "INT").build()
    t_env.create_temporary_table("t", TableDescriptor.for_connector("datagen").schema(wide).build())
    assert t_env.from_path("t").get_schema().get_field_names() == ["a", "b"]
    assert t_env.list_tables() == ["t"]
    assert t_env.list_temporary_tables() == ["t"]
    with pytest.raises(x.CatalogException, match="Drop it first"):
        t_env.drop_table("t")
    assert t_env.drop_temporary_table("t")
    assert not t_env.drop_temporary_table("t")
    assert t_env.drop_table("t")


def test_a_table_that_is_not_there_has_close_names(t_env: TableEnvironment) -> None:
    t_env.create_table("orders", BLACKHOLE)
    with pytest.raises(x.TableNotExistException) as caught:
        t_env.from_path("order")
    assert caught.value.fix == "did you mean orders?"


def test_names_are_looked_up_in_the_current_database(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE DATABASE db2")
    t_env.execute_sql("CREATE CATALOG c2 WITH ('type' = 'generic_in_memory')")
    t_env.use_database("db2")
    t_env.create_table("t", BLACKHOLE)
    assert t_env.list_tables() == ["t"]
    t_env.use_catalog("c2")
    assert (t_env.get_current_catalog(), t_env.get_current_database()) == ("c2", "default")
    assert t_env.list_tables() == []
    with pytest.raises(x.CatalogException, match=r"\[nope\] does not exist"):
        t_env.use_catalog("nope")


def test_catalogs_of_other_kinds_are_refused(t_env: TableEnvironment) -> None:
    with pytest.raises(UnsupportedStepError, match="hive"):
        t_env.execute_sql("CREATE CATALOG h WITH ('type' = 'hive')")
    with pytest.raises(ConfigurationError, match="no 'type'"):
        t_env.execute_sql("CREATE CATALOG h WITH ('a' = 'b')")


def test_functions_are_found_in_any_case_and_listed(t_env: TableEnvironment) -> None:
    add = udf(lambda i: i + 1, result_type="BIGINT", name="add")
    t_env.create_temporary_system_function("addOne", add)
    t_env.create_temporary_function("addTwo", add)
    assert t_env.list_user_defined_functions() == ["addTwo", "addone"]
    assert t_env._lookup.find_function(("ADDTWO",)) is add._definition
    assert "upper" in t_env.list_functions()
    assert t_env.drop_temporary_system_function("addone")
    assert t_env.drop_temporary_function("addtwo")
    assert t_env.list_user_defined_functions() == []


def test_java_and_modules_are_refused_with_what_to_do(t_env: TableEnvironment) -> None:
    with pytest.raises(UnsupportedStepError, match="no JVM"):
        t_env.create_java_temporary_function("f", "my.Function")
    with pytest.raises(ConfigurationError, match="there is no module 'hive'"):
        t_env.execute_sql("LOAD MODULE hive")
    assert [entry.name() for entry in t_env.list_full_modules()] == ["core"]
