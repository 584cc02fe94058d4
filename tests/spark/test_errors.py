"""What a user sees when a program is wrong: the step, the user's line, the record, a way out."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.connectors.files.source import FileSource
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.python_source import PythonSource
from headrace.datastream.functions import KeyedProcessFunction, MapFunction, RuntimeContext
from headrace.errors import (
    ConfigurationError,
    ConnectorError,
    DuplicateUidError,
    EmptyProgramError,
    HeadraceError,
    KeyTypeError,
    TypeMismatchError,
    UnserializableFunctionError,
    UserFunctionError,
)
from headrace.formats.file_format import StreamFormat
from headrace.formats.json_reader import JsonReaderFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
SPARK_WORDS = ("Py4J", "org.apache", "StreamingQueryException", "SparkException")


def failure_of(env: StreamExecutionEnvironment, kind: type[HeadraceError]) -> Any:
    """The error of a program that must fail, after what every error has was checked."""
    with pytest.raises(kind) as caught:
        env.execute("must fail")
    error = caught.value
    assert type(error) is kind
    assert str(error).startswith(f"[{error.condition}] ")
    assert not any(word in str(error) for word in SPARK_WORDS)
    return error


def invert(value: int) -> float:
    return 1 / value  # the line that a user has to find


def test_a_function_that_raises_is_named_with_its_line_and_the_record(
    env: StreamExecutionEnvironment,
) -> None:
    numbers = env.from_collection([4, 2, 0, 1])
    numbers.map(invert).name("invert them").print()  # the step

    error = failure_of(env, UserFunctionError)

    assert error.step == "invert them"
    assert error.record == "0"
    assert "ZeroDivisionError: " in error.message
    assert "test_errors.py:" in error.where
    assert "numbers.map(invert)" in error.where
    assert "return 1 / value  # the line that a user has to find" in str(error)
    assert isinstance(error.__cause__, ZeroDivisionError)


class NeverOpens(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        raise ConnectionError("model server is away")

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize("behind_an_exchange", [False, True])
def test_an_open_that_raises_is_named_with_its_line(
    env: StreamExecutionEnvironment, behind_an_exchange: bool
) -> None:
    numbers = env.from_collection([1, 2])
    stream = numbers.rebalance() if behind_an_exchange else numbers
    stream.map(NeverOpens()).name("ask the model").print()  # opens

    error = failure_of(env, UserFunctionError)

    assert error.step == "ask the model"
    assert "ConnectionError: model server is away" in error.message
    assert "# opens" in error.where
    assert 'raise ConnectionError("model server is away")' in str(error)


def test_an_error_after_much_output_is_not_lost_behind_an_exchange(
    make_env: Callable[..., StreamExecutionEnvironment],
) -> None:
    env = make_env(parallelism=2)
    numbers = env.from_collection(list(range(10_001)), Types.LONG())
    numbers.map(much_text, Types.STRING()).key_by(lambda text: text[-1]).map(len).print()

    error = failure_of(env, UserFunctionError)

    assert "ValueError: enough" in error.message
    assert error.record == "10000"


def much_text(number: int) -> str:
    """Fills packets, which leave at 4 MB, before it fails in the second piece of the list."""
    if number == 10_000:
        raise ValueError("enough")
    return f"{number:02000d}"


class Breaks(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        raise KeyError(value[1])


def test_a_function_behind_an_exchange_is_named_as_well(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection([("a", 7)], PAIR).key_by(lambda pair: pair[0])
    keyed.process(Breaks()).print()  # the step behind

    error = failure_of(env, UserFunctionError)

    assert "# the step behind" in error.where
    assert error.record == "('a', 7)"
    assert "raise KeyError(value[1])" in str(error)
    assert isinstance(error.__cause__, KeyError)


def test_a_sink_function_that_raises_is_named_with_the_record(
    env: StreamExecutionEnvironment,
) -> None:
    def refuse(value: int) -> None:
        raise OSError("no route")

    env.from_collection([5]).add_sink(refuse)  # the sink

    error = failure_of(env, UserFunctionError)

    assert "no route" in str(error)
    assert error.record == "5"
    assert "test_errors.py" in str(error)


def test_a_record_of_another_type_is_told_with_operator_field_value_and_type(
    env: StreamExecutionEnvironment,
) -> None:
    numbers = env.from_collection([1, 2])
    wrong = numbers.map(lambda n: (str(n), "two"), output_type=PAIR)  # not a pair
    wrong.name("make pairs").key_by(lambda pair: pair[0]).sum(1).print()

    error = failure_of(env, TypeMismatchError)

    text = str(error)
    assert "make pairs" in text
    assert "# not a pair" in text
    assert "f1" in text
    assert "'two'" in text
    assert "of type str" in text
    assert "where int " in text


def test_a_collection_with_a_record_of_another_type_is_refused(
    env: StreamExecutionEnvironment,
) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        env.from_collection([("a", 1), ("b", "x")], PAIR)
    assert str(caught.value).startswith("[TYPE_MISMATCH] ")
    assert "'x'" in str(caught.value)
    assert "test_errors.py:" in str(caught.value)


@pytest.mark.parametrize("asked", ["splits", "initial_offset", "latest_offset", "read"])
def test_a_source_that_raises_is_named_with_its_line(
    env: StreamExecutionEnvironment, asked: str
) -> None:
    class Broken(PythonSource):
        def splits(self) -> Any:
            return self.answer("splits", ["a"])

        def initial_offset(self, split: str) -> Any:
            return self.answer("initial_offset", 0)

        def latest_offset(self, split: str, start: int) -> Any:
            return self.answer("latest_offset", 3)

        def read(self, split: str, start: int, end: int) -> Any:
            yield from self.answer("read", range(start, end))

        def answer(self, question: str, found: Any) -> Any:
            if question == asked:
                raise ConnectionError("the broker is away")
            return found

    env.from_source(Broken(), WatermarkStrategy.no_watermarks(), "broker").print()

    error = failure_of(env, UserFunctionError)

    assert ("failed to read split 'a'" if asked == "read" else f"{asked}(") in error.message
    assert "ConnectionError: the broker is away" in error.message
    assert 'raise ConnectionError("the broker is away")' in str(error)
    assert "/headrace/hosts/" not in str(error)


def test_a_closure_that_cannot_travel_is_refused_before_anything_runs(
    env: StreamExecutionEnvironment,
) -> None:
    lock = threading.Lock()
    numbers = env.from_collection([1])
    numbers.map(lambda n: (lock, n)).name("locked").print()  # captures

    error = failure_of(env, UnserializableFunctionError)

    assert "'locked'" in error.message
    assert "# captures" in error.where
    assert "open()" in error.fix


def test_a_missing_file_is_told_with_its_path_and_the_users_line(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    missing = str(tmp_path / "nowhere")
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), missing).build()
    env.from_source(source, None, "words").print()  # reads nowhere

    error = failure_of(env, ConnectorError)

    assert missing in error.message
    assert "# reads nowhere" in str(error)


def test_a_bad_line_of_a_file_is_told_with_the_line_and_the_file(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    (tmp_path / "bad.json").write_text('{"id": 1}\n{"id": "no number"}\n')
    row = Types.ROW_NAMED(["id"], [Types.LONG()])
    source = FileSource.for_record_stream_format(JsonReaderFormat(row), str(tmp_path)).build()
    env.from_source(source, None, "orders").key_by(lambda r: r.id).reduce(max).print()

    error = failure_of(env, TypeMismatchError)

    assert "no number" in error.message
    assert "bad.json" in str(error)


@pytest.mark.parametrize(("key", "shown"), [(float("nan"), "nan"), (1j, "1j")])
def test_a_key_that_cannot_be_one_is_told_with_the_record(
    env: StreamExecutionEnvironment, key: Any, shown: str
) -> None:
    pairs = env.from_collection([(key, 7)])
    pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: a).print()  # keyed

    error = failure_of(env, KeyTypeError)

    assert shown in str(error)
    assert "test_errors.py:" in str(error)


def test_a_uid_used_twice_is_refused_with_both_lines(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1])
    first = numbers.map(lambda n: n).uid("same")  # first use
    first.map(lambda n: n).uid("same").print()  # second use

    error = failure_of(env, DuplicateUidError)

    assert "'same'" in error.message
    assert "# first use" in error.where
    assert "# second use" in error.where


def test_a_program_without_a_sink_is_refused(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(lambda n: n)

    error = failure_of(env, EmptyProgramError)

    assert ".print()" in error.fix


def test_an_unknown_option_is_refused_with_the_one_that_was_meant(spark: SparkSession) -> None:
    configuration = Configuration()
    configuration.set_string("source.max-record-per-batch", "5")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.from_collection([1]).print()

    error = failure_of(env, ConfigurationError)

    assert "'source.max-record-per-batch'" in error.message
    assert "'source.max-records-per-batch'" in error.fix
