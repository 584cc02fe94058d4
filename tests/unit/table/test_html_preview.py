"""Tables in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.table import EnvironmentSettings, TableEnvironment, html_preview

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def t_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableEnvironment:
    monkeypatch.setenv("HEADRACE_HOME", str(tmp_path))
    monkeypatch.setenv("HEADRACE_headrace.execution.host", "local")
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def test_a_table_shows_its_columns_and_lines(t_env: TableEnvironment) -> None:
    shown = t_env.sql_query("SELECT '<b>' AS a, CAST(NULL AS INT) AS n")._repr_html_()
    assert "<th>a<br><small>CHAR(3) NOT NULL</small></th>" in shown
    assert "<tr><td>&lt;b&gt;</td><td>NULL</td></tr>" in shown
    assert "<th>op</th>" not in shown
    assert "<p>1 line</p>" in shown


def test_changes_come_with_their_kinds(t_env: TableEnvironment) -> None:
    shown = t_env.sql_query("SELECT COUNT(*) AS n FROM (VALUES 1, 2) AS t (a)")._repr_html_()
    assert "<th>op</th>" in shown
    assert "<td>+U</td><td>2</td>" in shown


def test_a_table_without_end_shows_its_first_lines(t_env: TableEnvironment) -> None:
    t_env.execute_sql("CREATE TABLE g (a INT) WITH ('connector' = 'datagen')")
    shown = t_env.sql_query("SELECT a FROM g")._repr_html_()
    assert shown.count("<tr>") == 11
    assert "the first 10 lines" in shown


def test_a_table_that_is_slow_shows_what_came_in_time(
    t_env: TableEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_preview, "_TIMEOUT_S", 1.0)
    t_env.execute_sql(
        "CREATE TABLE g (a INT) WITH ('connector' = 'datagen', 'rows-per-second' = '1')"
    )
    shown = t_env.sql_query("SELECT a FROM g WHERE RAND() >= 0")._repr_html_()
    assert "time ran out after 1 s; the stream continues" in shown
    assert "execute().print() shows all of them" in shown


def test_a_table_without_lines_comes_back(
    t_env: TableEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_preview, "_TIMEOUT_S", 0.5)
    t_env.execute_sql("CREATE TABLE g (a INT) WITH ('connector' = 'datagen')")
    shown = t_env.sql_query("SELECT a FROM g WHERE RAND() > 1")._repr_html_()
    assert "0 lines; time ran out" in shown


def test_a_table_that_fails_shows_why(t_env: TableEnvironment) -> None:
    query = "SELECT CAST(a AS INT) AS n FROM (VALUES ('x')) AS t (a)"
    shown = t_env.sql_query(query)._repr_html_()
    assert "<th>n<br>" in shown
    assert "<pre>" in shown
