"""Every kind of source has a reader on every host, or is refused in words."""

from __future__ import annotations

import importlib.metadata
import pkgutil
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import pytest

import headrace
from golden.compare import assert_golden
from headrace.common.typeinfo import Types
from headrace.connectors.collection.source import CollectionSource
from headrace.connectors.files.avro_input import AvroInputFormat
from headrace.connectors.files.python_reader import FilesInPython
from headrace.connectors.files.source import FileSource
from headrace.connectors.files.table_files import TableFilesSource
from headrace.connectors.generator.datagen import DataGeneratorSource, RateLimiterStrategy
from headrace.connectors.generator.number_seq import NumberSequenceSource
from headrace.connectors.jdbc.reading import DatabaseSource
from headrace.connectors.kafka.dynamic.source import DynamicKafkaSource
from headrace.connectors.kafka.source import KafkaSource
from headrace.connectors.socket.source import SocketTextSource
from headrace.connectors.spark_tables.source import SparkTableSource
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.base import Boundedness, Source
from headrace.datastream.connectors.python_source import PythonSource
from headrace.errors import ConnectorError, UnsupportedStepError
from headrace.formats.file_format import StreamFormat
from headrace.hosts.local.sources import ADAPTERS as ON_THE_LOCAL_RUNNER
from headrace.hosts.spark.sources.collection_reader import CollectionAdapter
from headrace.hosts.spark.sources.dataframe_source import DataFrameSource
from headrace.hosts.spark.sources.file_reader import FileAdapter
from headrace.hosts.spark.sources.opening import ADAPTERS as ON_SPARK
from headrace.hosts.spark.sources.opening import are_exhausted, streams_of
from headrace.hosts.spark.sources.python_adapter import PythonSourceAdapter
from headrace.hosts.spark.sources.spark_tables import SparkTableAdapter
from headrace.spi.source_adapters import SourceAdapters
from headrace.testing import LocalRunner, collect_locally
from headrace.testing.programs import step_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def files(*paths: Path) -> FileSource:
    names = map(str, paths)
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), *names).build()


def generator(count: int | None, limit: RateLimiterStrategy | None = None) -> DataGeneratorSource:
    return DataGeneratorSource(lambda n: n, count, limit, type_info=Types.LONG())


def shipped() -> set[type[Source]]:
    """All classes of sources that come with headrace, wherever they are."""
    for module in pkgutil.walk_packages(headrace.__path__, "headrace."):
        if "connectors" in module.name or "sources" in module.name:
            importlib.import_module(module.name)

    def below(cls: type[Source]) -> Iterator[type[Source]]:
        for sub in cls.__subclasses__():
            yield sub
            yield from below(sub)

    return {cls for cls in below(Source) if cls.__module__.startswith("headrace.")}  # type: ignore[type-abstract]


def bare(cls: type[Source]) -> Source:
    """A source without settings: adapters are found by class alone."""
    return object.__new__(cls)


# class -> (on Spark, on the local runner)
EXPECTED: dict[type[Source], tuple[type, bool]] = {
    CollectionSource: (CollectionAdapter, True),
    DataGeneratorSource: (PythonSourceAdapter, True),
    KafkaSource: (PythonSourceAdapter, True),
    DynamicKafkaSource: (PythonSourceAdapter, True),
    NumberSequenceSource: (PythonSourceAdapter, True),
    AvroInputFormat: (PythonSourceAdapter, True),
    SocketTextSource: (PythonSourceAdapter, True),
    DatabaseSource: (PythonSourceAdapter, True),
    TableFilesSource: (PythonSourceAdapter, True),
    FileSource: (FileAdapter, True),
    SparkTableSource: (SparkTableAdapter, False),
    DataFrameSource: (type(ON_SPARK.of(bare(DataFrameSource))), False),
}


def test_every_shipped_source_is_in_the_table() -> None:
    # what a FileSource becomes where Python reads it: nobody passes it to a program
    assert shipped() - {PythonSource, FilesInPython} == EXPECTED.keys()


@pytest.mark.parametrize("cls", EXPECTED, ids=lambda cls: cls.__name__)
def test_every_shipped_source_has_a_reader_or_a_clear_refusal(cls: type[Source]) -> None:
    on_spark, locally = EXPECTED[cls]
    assert type(ON_SPARK.of(bare(cls))) is on_spark
    if locally:
        assert ON_THE_LOCAL_RUNNER.of(bare(cls)) is not None
    else:
        with pytest.raises(UnsupportedStepError, match=rf"no reader for .* {cls.__name__}"):
            ON_THE_LOCAL_RUNNER.of(bare(cls))


@pytest.mark.parametrize("cls", EXPECTED, ids=lambda cls: cls.__name__)
def test_checkpoints_know_a_source_by_the_name_of_its_class(cls: type[Source]) -> None:
    assert bare(cls).kind_name() == cls.__name__


class Unknown(Source):
    def produced_type(self) -> Any:
        return Types.STRING()

    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED


def test_an_unknown_source_is_refused_with_the_line_of_the_program() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(Unknown(), None, "mine")
    step = step_of(stream)
    with pytest.raises(UnsupportedStepError) as on_spark:
        streams_of(Unknown(), where=step.call_site)
    with pytest.raises(UnsupportedStepError) as locally:
        collect_locally(stream)
    assert_golden("errors/unknown_source.txt", f"{on_spark.value}\n\n{locally.value}")


# --- the table itself ----------------------------------------------------------------------------


class Base(Unknown):
    pass


class Derived(Base):
    pass


def table() -> SourceAdapters[str]:
    return SourceAdapters("a test", group="headrace.test", shipped={}, fix="none")


def test_the_nearest_base_wins() -> None:
    adapters = table()
    adapters.register(Unknown, "unknown")
    adapters.register(Base, "base")
    assert [adapters.of(cls()) for cls in (Unknown, Base, Derived)] == ["unknown", "base", "base"]


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes an entry point of the test's group known."""

    def make(value: str) -> None:
        entries = [EntryPoint("mine", value, "headrace.test")]
        found = {"headrace.test": entries}
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: found.get(group, []))

    return make


def register_derived(adapters: SourceAdapters[str]) -> None:
    adapters.register(Derived, "from a package")


def test_a_package_brings_the_reader_of_its_source(
    entry: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EntryPoint, "load", lambda self: register_derived)
    entry("mine:register")
    adapters = table()
    adapters.register(Base, "base")
    assert adapters.of(Derived()) == "from a package"
    assert adapters.of(Base()) == "base"


def test_a_package_that_cannot_be_loaded_is_named(entry: Callable[[str], None]) -> None:
    entry("no_such_package_of_ours:register")
    with pytest.raises(ConnectorError, match="no_such_package_of_ours") as caught:
        table().of(Derived())
    assert "entry point 'mine' of headrace.test" in str(caught.value)


# --- positions -----------------------------------------------------------------------------------


def test_a_source_is_asked_with_the_offsets_of_its_own_streams(tmp_path: Path) -> None:
    limited = generator(10, RateLimiterStrategy.per_second(5))
    sources = [files(tmp_path, tmp_path), limited]
    log = {"logOffset": 3}
    assert [streams_of(source) for source in sources] == [2, 1]
    assert not are_exhausted(sources, [])
    assert not are_exhausted(sources, [log, log])
    assert not are_exhausted(sources, [log, log, None])
    assert not are_exhausted(sources, [log, log, {"0": 9}])
    assert are_exhausted(sources, [log, log, {"0": 10}])
    assert are_exhausted(sources[:1], [])


def test_only_a_source_that_holds_back_stands_in_the_way_of_a_batch(tmp_path: Path) -> None:
    assert files(tmp_path).gives_all_at_once()
    assert generator(10).gives_all_at_once()
    assert not generator(10, RateLimiterStrategy.per_second(5)).gives_all_at_once()


def test_collecting_waits_for_a_source_that_holds_back() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(generator(5, RateLimiterStrategy.per_checkpoint(2)), None, "five")
    assert collect_locally(stream) == [0, 1, 2, 3, 4]


def test_what_never_ends_cannot_be_collected_but_read_batch_by_batch() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(generator(None), None, "endless")
    with pytest.raises(UnsupportedStepError, match="never ends"):
        collect_locally(stream)
    with LocalRunner(stream) as job:
        assert job.read_batch(3) == [0, 1, 2]
        job.restart()
        assert job.read_batch(2) == [3, 4]
        assert job.positions == [{"0": 5}]
