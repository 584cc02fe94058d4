"""Options of tables: each of Flink's is known by name, and no other is taken."""

from __future__ import annotations

import asyncio

import pytest

from headrace.common import Configuration
from headrace.common.configuration import effective_configuration
from headrace.common.option_families import find_family
from headrace.common.options import find_option
from headrace.errors import ConfigurationError, HeadraceError, InvalidArgumentError, PlanError
from headrace.table import DataTypes, EnvironmentSettings, TableEnvironment
from headrace.table.expressions import col
from headrace.table.udf import udf

# those of Flink 2.3, a beginning and what follows it
FLINKS = {
    "table.": "builtin-catalog-name builtin-database-name catalog-modification.listeners "
    "catalog-store.kind column-expansion-strategy display.max-column-width dml-sync "
    "dynamic-table-options.enabled generated-code.max-length generated-code.max-members "
    "legacy-nested-row-nullability local-time-zone plan.compile.catalog-objects "
    "plan.force-recompile plan.restore.catalog-objects resources.download-dir "
    "rtas-ctas.atomicity-enabled secret-store.kind sql-dialect",
    "table.exec.": "async-lookup.buffer-capacity async-lookup.key-ordered-enabled "
    "async-lookup.output-mode async-lookup.timeout async-ml-predict.max-concurrent-operations "
    "async-ml-predict.output-mode async-ml-predict.timeout async-scalar.buffer-capacity "
    "async-scalar.max-attempts async-scalar.max-concurrent-operations async-scalar.retry-delay "
    "async-scalar.retry-strategy async-scalar.timeout async-state.enabled "
    "async-table.max-concurrent-operations async-table.max-retries async-table.retry-delay "
    "async-table.retry-strategy async-table.timeout async-vector-search.max-concurrent-operations "
    "async-vector-search.output-mode async-vector-search.timeout "
    "deduplicate.insert-update-after-sensitive-enabled "
    "deduplicate.mini-batch.compact-changes-enabled delta-join.cache-enabled "
    "delta-join.left.cache-size delta-join.right.cache-size disabled-operators "
    "dynamic-filtering.threshold emit.allow-lateness emit.early-fire.delay emit.early-fire.enabled "
    "emit.late-fire.delay emit.late-fire.enabled interval-join.min-cleanup-interval "
    "legacy-cast-behaviour local-hash-agg.adaptive.distinct-value-rate-threshold "
    "local-hash-agg.adaptive.enabled local-hash-agg.adaptive.sampling-threshold "
    "mini-batch.allow-latency mini-batch.enabled mini-batch.size operator-fusion-codegen.enabled "
    "rank.topn-cache-size resource.default-parallelism resource.external-buffer-memory "
    "resource.hash-agg.memory resource.hash-join.memory resource.sort.memory "
    "simplify-operator-name-enabled sink.keyed-shuffle sink.nested-constraint-enforcer "
    "sink.not-null-enforcer sink.require-on-conflict sink.rowtime-inserter "
    "sink.type-length-enforcer sink.upsert-materialize "
    "sink.upsert-materialize-strategy.adaptive.threshold.high "
    "sink.upsert-materialize-strategy.adaptive.threshold.low sink.upsert-materialize-strategy.type "
    "sort.async-merge-enabled sort.default-limit sort.max-num-file-handles "
    "source.cdc-events-duplicate source.idle-timeout spill-compression.block-size "
    "spill-compression.enabled state.ttl uid.format uid.generation unbounded-over.version "
    "window-agg.buffer-size-limit",
    "table.optimizer.": "adaptive-broadcast-join.strategy agg-phase-strategy "
    "bushy-join-reorder-threshold delta-join.strategy distinct-agg.split.bucket-num "
    "distinct-agg.split.enabled dynamic-filtering.enabled incremental-agg-enabled "
    "join-reorder-enabled join.broadcast-threshold multi-join.enabled multiple-input-enabled "
    "non-deterministic-update.strategy ptf.max-tables reuse-optimize-block-with-digest-enabled "
    "reuse-sink-enabled reuse-source-enabled reuse-sub-plan-enabled runtime-filter.enabled "
    "runtime-filter.max-build-data-size runtime-filter.min-filter-ratio "
    "runtime-filter.min-probe-data-size skewed-join-optimization.skewed-factor "
    "skewed-join-optimization.skewed-threshold skewed-join-optimization.strategy "
    "source.report-statistics-enabled sql2rel.project-merge.enabled "
    "union-all-as-breakpoint-enabled",
    "sql-client.": "display.color-schema display.print-time-cost display.show-line-numbers "
    "execution.max-table-result.rows execution.result-mode verbose",
}
NAMES = [f"{prefix}{name}" for prefix, names in FLINKS.items() for name in names.split()]


def _tables(**options: str) -> TableEnvironment:
    return _tables_of(EnvironmentSettings.in_streaming_mode(), **options)


def _batch_tables(**options: str) -> TableEnvironment:
    return _tables_of(EnvironmentSettings.in_batch_mode(), **options)


def _tables_of(mode: EnvironmentSettings, **options: str) -> TableEnvironment:
    tables = TableEnvironment.create(mode)
    tables.get_config().set("headrace.execution.host", "local")
    tables.get_config().set("parallelism.default", "1")
    for name, value in options.items():
        tables.get_config().set(name.replace("__", ".").replace("_", "-"), value)
    return tables


@pytest.mark.parametrize("name", NAMES)
def test_an_option_of_flink_is_known(name: str) -> None:
    assert find_option(name) is not None
    # none is known by its beginning only, which would take misspelled ones, too
    family = find_family(name)
    assert family is None or family.effect == "refused"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("table.exec.state.tll", "table.exec.state.ttl"),
        ("table.exec.minibatch.enabled", "table.exec.mini-batch.enabled"),
        ("sql-client.execution.result.mode", "sql-client.execution.result-mode"),
    ],
)
def test_a_name_that_is_not_known_is_refused_with_near_ones(name: str, near: str) -> None:
    code = Configuration.from_dict({name: "true"})
    with pytest.raises(ConfigurationError, match=f"there is no option '{name}'") as caught:
        effective_configuration(code, environment={})
    assert near in str(caught.value.fix)


def test_a_statement_is_told_at_once() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean 'table\.exec\.state\.ttl'"):
        _tables().execute_sql("SET 'table.exec.state.tl' = '1 h'")
    with pytest.raises(ConfigurationError, match="cannot be set: plans are not searched"):
        _tables().execute_sql(
            "SET 'table.optimizer.non-deterministic-update.strategy' = 'TRY_RESOLVE'"
        )


def test_what_is_done_anyway_may_be_set() -> None:
    tables = _tables()
    tables.execute_sql("SET 'table.optimizer.non-deterministic-update.strategy' = 'ignore'")
    tables.execute_sql("SET 'table.exec.emit.allow-lateness' = '0 ms'")
    assert "Values" in tables.sql_query("SELECT 1").explain()


def test_variables_and_files_count_for_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TABLE_EXEC_SORT_DEFAULT_LIMIT", "1")
    assert _sorted(_batch_tables()) == [1]


# --- those that act ------------------------------------------------------------------------------


def _sorted(tables: TableEnvironment) -> list[int]:
    found = tables.sql_query("SELECT * FROM (VALUES (3), (1), (2)) AS v (a) ORDER BY a")
    return [row[0] for row in found.execute().collect()]


def test_a_sort_in_batch_mode_has_a_limit_by_default() -> None:
    assert _sorted(_batch_tables()) == [1, 2, 3]
    assert _sorted(_batch_tables(table__exec__sort__default_limit="2")) == [1, 2]


def test_the_steps_of_tables_have_their_own_parallelism() -> None:
    tables = _tables(table__exec__resource__default_parallelism="3")
    tables._planner().to_stream(tables.sql_query("SELECT 1 + RAND()")._rel)
    assert {step.parallelism for step in tables._env._graph.steps} == {3}
    with pytest.raises(ConfigurationError, match="default-parallelism is 0"):
        _tables(table__exec__resource__default_parallelism="0")._planner()


def test_steps_get_uids_if_asked_for() -> None:
    tables = _tables(
        table__exec__uid__generation="ALWAYS", table__exec__uid__format="q_<id>_<type>"
    )
    tables._planner().to_stream(tables.sql_query("SELECT RAND()")._rel)
    uids = [step.uid for step in tables._env._graph.steps]
    assert uids == ["q_1_stream-exec-values", "q_2_stream-exec-calc"]
    plain = _tables()
    plain._planner().to_stream(plain.sql_query("SELECT RAND()")._rel)
    assert {step.uid for step in plain._env._graph.steps} == {None}


def test_a_statement_may_have_to_say_what_happens_to_conflicts() -> None:
    tables = _tables(table__exec__sink__require_on_conflict="true")
    tables.create_temporary_view("orders", tables.from_elements([(1, 2)], ["a", "b"]))
    tables.execute_sql(
        "CREATE TABLE kept (a BIGINT, n BIGINT, PRIMARY KEY (n) NOT ENFORCED) WITH ("
        "'connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'x:1', "
        "'key.format' = 'json', 'value.format' = 'json')"
    )
    text = "INSERT INTO kept SELECT a, COUNT(*) FROM orders GROUP BY a"
    with pytest.raises(PlanError, match="may have the same primary key") as caught:
        tables.explain_sql(text)
    assert "ON CONFLICT DO DEDUPLICATE" in str(caught.value.fix)
    assert "TableInsert" in tables.explain_sql(f"{text} ON CONFLICT DO DEDUPLICATE")
    tables.get_config().set("table.exec.sink.require-on-conflict", "false")
    assert "TableInsert" in tables.explain_sql(text)


def test_options_in_hints_can_be_forbidden() -> None:
    tables = _tables(table__dynamic_table_options__enabled="false")
    tables.execute_sql("CREATE TABLE numbers (a INT) WITH ('connector' = 'datagen')")
    with pytest.raises(InvalidArgumentError, match="hint OPTIONS is used"):
        tables.sql_query("SELECT * FROM numbers /*+ OPTIONS('number-of-rows' = '1') */")
    tables.sql_query("SELECT * FROM numbers")


@pytest.mark.parametrize(("sensitive", "kinds"), [("true", ["+I", "+U"]), ("false", ["+U", "+U"])])
def test_a_deduplication_tells_first_lines_if_asked_to(
    sensitive: str, kinds: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    from headrace.common.changes import Changes
    from headrace.rel.tables import TableTarget

    option = {"table__exec__deduplicate__insert_update_after_sensitive_enabled": sensitive}
    tables = _tables(**option)
    tables.create_temporary_view("given", tables.from_elements([(1, 1), (1, 2)], ["k", "v"]))
    rel = tables.sql_query(
        "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS r "
        "FROM (SELECT *, PROCTIME() AS p FROM given)) WHERE r = 1"
    )._rel
    upserts = Changes.INSERT | Changes.UPDATE_AFTER | Changes.DELETE
    target = TableTarget("kept", lambda _: upserts, lambda lines, _: lines.print(), (0,))
    tables._planner().add_inserts([(rel, target)])
    tables._env.execute()
    numbers = {"+I": 0, "+U": 2}
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line] == [
        f"(1,{v},{numbers[kind]})" for v, kind in zip((1, 2), kinds, strict=True)
    ]


class _Flaky:
    """Fails some times, then answers."""

    def __init__(self, failures: int, rest_s: float = 0.0) -> None:
        self.failures, self.rest_s = failures, rest_s
        self.calls = 0

    async def eval(self, value: str) -> str:
        self.calls += 1
        await asyncio.sleep(self.rest_s)
        if self.calls <= self.failures:
            raise ValueError(value)
        return f"{value} {self.calls}"


def _waited(failures: int, rest_s: float = 0.0, **options: str) -> str:
    flaky = _Flaky(failures, rest_s)

    @udf(result_type=DataTypes.STRING())  # type: ignore[untyped-decorator]
    async def ask(value: str) -> str:
        return await flaky.eval(value)

    options.setdefault("table__exec__async_scalar__retry_delay", "1 ms")
    table = _tables(**options).from_elements([("x",)], ["a"]).select(ask(col("a")))
    with table.execute().collect() as rows:
        return str(next(iter(rows))[0])


def test_an_asynchronous_function_that_raises_is_called_again() -> None:
    assert _waited(failures=3) == "x 4"
    with pytest.raises(HeadraceError, match="raised ValueError"):
        _waited(failures=4)
    assert _waited(failures=5, table__exec__async_scalar__max_attempts="5") == "x 6"


def test_it_is_not_if_nobody_wants_that() -> None:
    with pytest.raises(HeadraceError, match="raised ValueError"):
        _waited(failures=1, table__exec__async_scalar__retry_strategy="NO_RETRY")


def test_an_asynchronous_function_has_a_time_limit() -> None:
    with pytest.raises(HeadraceError, match="raised TimeoutError"):
        _waited(failures=0, rest_s=5, table__exec__async_scalar__timeout="50 ms")
