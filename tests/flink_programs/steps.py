"""The parts of a `TableTestProgram`, with Flink's builder methods as data.

In: calls that java_values.py computes.  Out: `Program`.  Next: runner.py
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

KINDS = {"INSERT": 0, "UPDATE_BEFORE": 1, "UPDATE_AFTER": 2, "DELETE": 3}
LETTERS = ("I", "UB", "UA", "D")


@dataclass(frozen=True)
class Symbol:
    """A constant of Java that has no value here: an item of an enum, a class, an option."""

    name: str


@dataclass
class JavaRow:
    """A `Row`: its cells, and a number for its kind; cells by name for a few."""

    cells: list[Any]
    kind: int = 0


@dataclass(frozen=True)
class JavaMode:
    """A `ChangelogMode`."""

    kinds: tuple[int, ...]
    key_only_deletes: bool = False


@dataclass
class ModeBuilder:
    """A `ChangelogMode.Builder`."""

    kinds: list[int]
    by_key: bool = False

    def addContainedKind(self, kind: int) -> ModeBuilder:
        self.kinds.append(kind)
        return self

    def keyOnlyDeletes(self, by_key: bool) -> ModeBuilder:
        self.by_key = by_key
        return self

    def build(self) -> JavaMode:
        return JavaMode(tuple(self.kinds), self.by_key)


@dataclass(frozen=True)
class SqlStep:
    """A statement."""

    sql: str


@dataclass
class TableStep:
    """A source or sink: its schema, options and rows, before and after the restart."""

    name: str
    schema: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    partitions: list[str] = field(default_factory=list)
    before: list[Any] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)
    materialized: list[Any] | None = None
    changelog: bool = True
    dedup_fields: list[int] | None = None
    notes: set[str] = field(default_factory=set)

    @property
    def schemaComponents(self) -> list[str]:
        return self.schema

    def build(self) -> TableStep:
        return copy.deepcopy(self)

    def addSchema(self, *columns: Any) -> TableStep:
        self.schema += flat(columns)
        return self

    def addOption(self, key: Any, value: Any) -> TableStep:
        self.options[option_key(key)] = str(value)
        return self

    def addOptions(self, options: dict[str, str]) -> TableStep:
        self.options.update(options)
        return self

    def withNewOptions(self, options: dict[str, str]) -> TableStep:
        made = copy.deepcopy(self)
        made.options = dict(options)
        return made

    def addPartitionKeys(self, *names: Any) -> TableStep:
        self.partitions += flat(names)
        return self

    def addDistribution(self, *_: Any) -> TableStep:
        self.notes.add("DISTRIBUTED BY")
        return self

    def addIndex(self, *_: Any) -> TableStep:
        self.notes.add("indexes of tables (delta join)")
        return self

    def addMode(self, mode: JavaMode) -> TableStep:
        letters = ",".join(LETTERS[kind] for kind in mode.kinds)
        by_key = str(mode.key_only_deletes).lower()
        self.options |= {
            "changelog-mode": letters,
            "sink-changelog-mode-enforced": letters,
            "source.produces-delete-by-key": by_key,
            "sink.supports-delete-by-key": by_key,
        }
        return self

    def producedBeforeRestore(self, *rows: Any) -> TableStep:
        self.before += flat(rows)
        return self

    producedValues = producedBeforeRestore

    def producedAfterRestore(self, *rows: Any) -> TableStep:
        self.after += flat(rows)
        return self

    def treatDataBeforeRestoreAsConsumedData(self) -> TableStep:
        return self

    def consumedBeforeRestore(self, *rows: Any) -> TableStep:
        self.before = flat(rows)
        return self

    consumedValues = consumedBeforeRestore

    def consumedAfterRestore(self, *rows: Any) -> TableStep:
        self.after = flat(rows)
        return self

    def expectedMaterializedRows(self, *rows: Any) -> TableStep:
        self.materialized = flat(rows)
        return self

    expectedMaterializedStrings = expectedMaterializedRows

    def testMaterializedData(self) -> TableStep:
        self.changelog = False
        return self

    def testChangelogData(self) -> TableStep:
        self.changelog = True
        return self

    def deduplicatedFieldIndices(self, fields: Any) -> TableStep:
        self.dedup_fields = list(fields)
        return self

    def ddl(self, connector: str) -> str:
        """CREATE TABLE."""
        options = {**self.options, "connector": connector}
        listed = ",\n".join(f"'{key}'='{value}'" for key, value in options.items())
        partitioned = f"PARTITIONED BY ({', '.join(self.partitions)})\n" if self.partitions else ""
        columns = ",\n".join(self.schema)
        return f"CREATE TABLE {self.name} (\n{columns})\n{partitioned}WITH (\n{listed})"


@dataclass
class Program:
    """A test program: steps in their order, each a word and its arguments."""

    id: str
    description: str
    steps: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)

    def build(self) -> Program:
        return self

    def add(self, word: str, *arguments: Any) -> Program:
        self.steps.append((word, arguments))
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("setup", "run")):
            return lambda *arguments: self.add(name, *arguments)
        raise AttributeError(name)

    def getSetupSourceTestSteps(self) -> list[TableStep]:
        return self.tables("setupTableSource")

    def getSetupSinkTestSteps(self) -> list[TableStep]:
        return self.tables("setupTableSink")

    def getRunSqlTestStep(self) -> SqlStep:
        return SqlStep(next(given[0] for word, given in self.steps if word == "runSql"))

    def tables(self, word: str) -> list[TableStep]:
        """Sources or sinks."""
        found: list[TableStep] = []
        for each, arguments in self.steps:
            if each == word:
                found.append(arguments[0])
            elif each == word + "s":
                found += flat(arguments)
        return found


def flat(values: Any) -> list[Any]:
    """Arguments, where an array or list stands for its items."""
    found: list[Any] = []
    for value in values:
        found += flat(value) if isinstance(value, (list, tuple)) else [value]
    return found


def option_key(key: Any) -> str:
    """The key of an option."""
    return key.name if isinstance(key, Symbol) else str(key)
