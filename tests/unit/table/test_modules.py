"""Modules: what LOAD, USE and UNLOAD do to the meaning of a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from headrace.errors import ConfigurationError, HeadraceError, InvalidArgumentError
from headrace.table.catalogs.modules import MODULES
from headrace.table.module import Module, ModuleEntry
from headrace.table.udf import udf

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from headrace.table import TableEnvironment


class Texts(Module):
    """Two functions, one of which SQL has, too."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self.sign = (options or {}).get("sign", "!")

    def list_functions(self) -> list[str]:
        return ["Shout", "upper"]

    def get_function(self, name: str) -> Any:
        return udf(lambda text, sign=self.sign: f"{text}{sign}", result_type="STRING")


@pytest.fixture
def offered(t_env: TableEnvironment, monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    monkeypatch.setitem(MODULES._own, "texts", f"{__name__}:Texts")
    return t_env


def column(env: TableEnvironment, statement: str) -> list[Any]:
    with env.execute_sql(statement).collect() as rows:
        return [row[0] for row in rows]


def test_a_module_that_is_loaded_stands_behind_the_others(t_env: TableEnvironment) -> None:
    t_env.load_module("texts", Texts())
    assert column(t_env, "SHOW MODULES") == ["core", "texts"]
    assert column(t_env, "SELECT SHOUT(`upper`('a'))") == ["A!"]
    assert {"Shout", "abs"} <= set(t_env.list_functions())


def test_the_first_module_that_has_a_function_gives_it(t_env: TableEnvironment) -> None:
    t_env.load_module("texts", Texts())
    t_env.use_modules("texts", "core")
    assert column(t_env, "SELECT `upper`('a')") == ["a!"]
    t_env.execute_sql("USE MODULES core, texts")
    assert column(t_env, "SELECT `upper`('a')") == ["A"]


def test_a_module_that_is_not_used_gives_nothing(t_env: TableEnvironment) -> None:
    t_env.load_module("texts", Texts())
    t_env.execute_sql("USE MODULES core")
    assert t_env.list_full_modules() == [
        ModuleEntry("core", used=True),
        ModuleEntry("texts", used=False),
    ]
    with pytest.raises(HeadraceError, match=r"(?i)shout"):
        t_env.execute_sql("SELECT SHOUT('a')")
    t_env.execute_sql("UNLOAD MODULE texts")
    assert t_env.list_full_modules() == [ModuleEntry("core", used=True)]


def test_a_function_of_the_session_hides_one_of_a_module_and_that_one_of_a_database(
    t_env: TableEnvironment,
) -> None:
    same = udf(lambda text: text, result_type="STRING")
    t_env.load_module("texts", Texts())
    t_env.create_temporary_function("shout", same)
    assert column(t_env, "SELECT SHOUT('a')") == ["a!"]
    assert column(t_env, "DESCRIBE FUNCTION shout") == ["is system function", "is temporary"]
    t_env.create_temporary_system_function("shout", same)
    assert column(t_env, "SELECT SHOUT('a')") == ["a"]


def test_load_module_finds_what_packages_offer(offered: TableEnvironment) -> None:
    offered.execute_sql("LOAD MODULE texts WITH ('sign' = '?')")
    assert column(offered, "SELECT SHOUT('a')") == ["a?"]


def test_without_core_sqls_own_functions_stay_and_are_not_listed(t_env: TableEnvironment) -> None:
    t_env.execute_sql("UNLOAD MODULE core")
    assert (t_env.list_modules(), t_env.list_functions()) == ([], [])
    assert column(t_env, "SELECT `upper`('a')") == ["A"]
    t_env.execute_sql("LOAD MODULE core")
    assert "upper" in t_env.list_functions()


@pytest.mark.parametrize(
    ("statement", "kind", "wrong"),
    [
        ("LOAD MODULE core", InvalidArgumentError, "already exists"),
        ("LOAD MODULE Texts", ConfigurationError, "there is no module 'Texts'"),
        ("LOAD MODULE mine WITH ('type' = 'texts')", InvalidArgumentError, "find module"),
        ("USE MODULES nowhere", InvalidArgumentError, "No module with name 'nowhere'"),
        ("USE MODULES core, core", InvalidArgumentError, "more than once"),
        ("UNLOAD MODULE nowhere", InvalidArgumentError, "No module with name 'nowhere'"),
    ],
)
def test_what_is_wrong_with_a_module_is_told(
    offered: TableEnvironment, statement: str, kind: type[HeadraceError], wrong: str
) -> None:
    with pytest.raises(kind, match=wrong):
        offered.execute_sql(statement)
    assert offered.list_modules() == ["core"]


def test_only_modules_can_be_loaded(t_env: TableEnvironment) -> None:
    with pytest.raises(InvalidArgumentError, match="takes a Module, not a dict"):
        t_env.load_module("texts", {})  # type: ignore[arg-type]


def test_a_view_calls_the_functions_of_the_database_in_which_it_was_made(
    t_env: TableEnvironment,
) -> None:
    for name in ("a", "b"):
        t_env.execute_sql(f"CREATE DATABASE {name}")
        t_env.create_temporary_function(
            f"{name}.here", udf(lambda name=name: name, result_type="STRING")
        )
    t_env.execute_sql("USE a")
    t_env.execute_sql("CREATE VIEW v AS SELECT here() AS x")
    t_env.execute_sql("USE b")
    assert column(t_env, "SELECT x FROM a.v") == ["a"]
    t_env.execute_sql("USE default_database")
    assert column(t_env, "SELECT x FROM a.v") == ["a"]


def test_a_compiled_plan_finds_a_function_of_a_module_by_its_name(
    t_env: TableEnvironment, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t_env.load_module("texts", Texts())
    t_env.execute_sql("CREATE TABLE o (a STRING) WITH ('connector' = 'print')")
    plan = tmp_path / "plan.json"
    t_env.execute_sql(f"COMPILE PLAN '{plan}' FOR INSERT INTO o SELECT SHOUT('a')")
    t_env.execute_sql(f"EXECUTE PLAN '{plan}'").wait()
    assert "+I[a!]" in capsys.readouterr().out
