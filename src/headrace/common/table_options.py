"""The options of tables and SQL.

Out: `TABLE_OPTIONS`, a part of the table in common/options.py.
Next: common/foreign_table_options.py has Flink's others
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.config_options import ConfigOption

if TYPE_CHECKING:
    from headrace.common.opaque import OptionValue

TABLE_OPTIONS: tuple[ConfigOption[OptionValue], ...] = (
    ConfigOption(
        "table.local-time-zone",
        "string",
        "default",
        "The zone of the session, in which TIMESTAMP_LTZ is shown and becomes text: a name such as "
        "Europe/Berlin, or an offset. By default that of the machine.",
    ),
    ConfigOption(
        "table.exec.state.ttl",
        "duration",
        "0 ms",
        "How long state that nobody asks for is kept; 0 ms for ever.",
        minimum=0,
    ),
    ConfigOption(
        "table.exec.mini-batch.enabled",
        "boolean",
        default=False,
        doc="One change a key and batch, instead of one a line.",
    ),
    ConfigOption(
        "table.exec.sink.not-null-enforcer",
        "string",
        "ERROR",
        "What happens to a line with NULL in a column that its table declares NOT NULL: ERROR "
        "fails the job, DROP leaves the line out.",
    ),
    ConfigOption(
        "table.exec.sink.type-length-enforcer",
        "string",
        "IGNORE",
        "What happens to texts and bytes of another length than their column declares: IGNORE "
        "writes them as they are, TRIM_PAD cuts and pads them, ERROR fails the job.",
    ),
    ConfigOption(
        "table.exec.sink.upsert-materialize",
        "string",
        "AUTO",
        "Whether the last line of each primary key is found in front of a sink that takes upserts: "
        "AUTO where lines of one key may come from several lines of the query, NONE never, FORCE "
        "always.",
    ),
    ConfigOption(
        "table.exec.source.cdc-events-duplicate",
        "boolean",
        default=False,
        doc="Whether changes of tables may come twice: then the last line of each primary key is "
        "kept to tell what is new.",
    ),
    ConfigOption(
        "table.exec.source.idle-timeout",
        "duration",
        "0 ms",
        "After which time a silent source holds no watermark up; 0 ms for never.",
        minimum=0,
    ),
    ConfigOption(
        "table.exec.legacy-cast-behaviour",
        "enum",
        "DISABLED",
        "Whether CAST gives NULL where it cannot be done, as TRY_CAST does.",
        choices=("ENABLED", "DISABLED"),
    ),
    ConfigOption(
        "table.dml-sync",
        "boolean",
        default=False,
        doc="Whether INSERT waits for the end of its job.",
    ),
    ConfigOption(
        "table.sql-dialect",
        "enum",
        "default",
        "The dialect of statements; Hive's are refused when they are given.",
        choices=("default", "hive"),
    ),
    ConfigOption(
        "table.builtin-catalog-name",
        "string",
        "default_catalog",
        "The name of the catalog that is there from the start.",
    ),
    ConfigOption(
        "table.builtin-database-name",
        "string",
        "default_database",
        "The name of the database that is there from the start.",
    ),
    ConfigOption(
        "python.fn-execution.bundle.size",
        "int",
        1000,
        "With 1, a GROUP BY with aggregate functions of the user has a result after each line; "
        "else, as in PyFlink, one after what arrived together, which has no other bounds here.",
        minimum=1,
    ),
    # --- user functions that wait (scalars/user_parts.py)
    ConfigOption(
        "table.exec.async-scalar.max-concurrent-operations",
        "int",
        10,
        "How many calls of an asynchronous function wait at the same time.",
        minimum=1,
    ),
    ConfigOption(
        "table.exec.async-scalar.timeout",
        "duration",
        "3 min",
        "After which time a call of an asynchronous function fails, together with its retries.",
        minimum=0,
    ),
    ConfigOption(
        "table.exec.async-scalar.retry-strategy",
        "enum",
        "FIXED_DELAY",
        "Whether an asynchronous function that raises is called again.",
        choices=("FIXED_DELAY", "NO_RETRY"),
    ),
    ConfigOption(
        "table.exec.async-scalar.retry-delay",
        "duration",
        "100 ms",
        "How long to wait before an asynchronous function is called again.",
        minimum=0,
    ),
    ConfigOption(
        "table.exec.async-scalar.max-attempts",
        "int",
        3,
        "How often an asynchronous function that raises is called again.",
        minimum=0,
    ),
    # --- plans (rel/planner.py)
    ConfigOption(
        "table.exec.resource.default-parallelism",
        "int",
        -1,
        "How many subtasks the steps of tables have; -1 for parallelism.default.",
    ),
    ConfigOption(
        "table.optimizer.agg-phase-strategy",
        "enum",
        "AUTO",
        "Whether aggregates of windows are computed in two steps, the first in front of the "
        "exchange. AUTO and TWO_PHASE do so where it can be.",
        ("AUTO", "TWO_PHASE", "ONE_PHASE"),
    ),
    ConfigOption(
        "table.exec.sort.default-limit",
        "int",
        -1,
        "In batch mode, how many lines an ORDER BY without LIMIT gives; -1 for all.",
    ),
    ConfigOption(
        "table.exec.deduplicate.insert-update-after-sensitive-enabled",
        "boolean",
        default=True,
        doc="Whether a deduplication that keeps the last line tells the first one of a key (+I) "
        "from those that replace it (+U), where nobody asks for -U.",
    ),
    ConfigOption(
        "table.exec.sink.require-on-conflict",
        "boolean",
        default=False,
        doc="Whether INSERT needs ON CONFLICT DO DEDUPLICATE if lines of several keys of the query "
        "may have one primary key of the table. By default false; Flink 2.3 has true.",
    ),
    ConfigOption(
        "table.exec.sink.nested-constraint-enforcer",
        "enum",
        "IGNORE",
        "Whether fields of rows, elements of arrays and values of maps are held to NOT NULL and to "
        "their lengths as columns are: IGNORE, ROWS for rows, ROWS_AND_COLLECTIONS for all.",
        choices=("IGNORE", "ROWS", "ROWS_AND_COLLECTIONS"),
    ),
    ConfigOption(
        "table.exec.uid.generation",
        "enum",
        "PLAN_ONLY",
        "Which steps get a uid: PLAN_ONLY those of EXECUTE PLAN, ALWAYS all, DISABLED none; "
        "without one, a step is known by its place in the program.",
        choices=("PLAN_ONLY", "ALWAYS", "DISABLED"),
    ),
    ConfigOption(
        "table.exec.uid.format",
        "string",
        "<id>_<transformation>",
        "What a uid looks like: <id> is a number, <type> and <transformation> the name of the "
        "step, <version> 1.",
    ),
    ConfigOption(
        "table.plan.force-recompile",
        "boolean",
        default=False,
        doc="Whether COMPILE PLAN replaces a file that is there.",
    ),
    ConfigOption(
        "table.dynamic-table-options.enabled",
        "boolean",
        default=True,
        doc="Whether statements may change the options of a table by the hint OPTIONS.",
    ),
    # --- how the SQL client shows results (cli/sql/settings.py)
    ConfigOption(
        "sql-client.execution.result-mode",
        "enum",
        "table",
        "How `headrace sql` shows results: `table`, `changelog` or `tableau`; without a terminal "
        "`tableau` by default.",
        choices=("table", "changelog", "tableau"),
    ),
    ConfigOption(
        "sql-client.execution.max-table-result.rows",
        "int",
        1_000_000,
        "How many lines a result on the screen keeps; the oldest go first.",
        minimum=1,
    ),
    ConfigOption(
        "sql-client.verbose",
        "boolean",
        default=False,
        doc="Whether errors in `headrace sql` come with their traceback.",
    ),
    ConfigOption(
        "sql-client.display.print-time-cost",
        "boolean",
        default=True,
        doc="Whether queries in BATCH mode tell how long they took.",
    ),
    ConfigOption(
        "table.display.max-column-width",
        "int",
        30,
        "How wide `headrace sql` makes a column of text.",
        minimum=1,
    ),
    ConfigOption(
        "sql-client.display.max-column-width",
        "int",
        30,
        "The older name of table.display.max-column-width.",
        minimum=1,
    ),
)
