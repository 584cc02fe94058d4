"""Every message a user can get from the engine, as a file to be read; every error can travel."""

from __future__ import annotations

import asyncio
import pickle
import threading
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import cloudpickle
import pytest

from golden.compare import assert_golden
from headrace import errors
from headrace.common.configuration import Configuration
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.data.pickling import loads
from headrace.data.records import Records
from headrace.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from headrace.datastream.formats.avro import (
    AvroSchema,
    ConfluentRegistryAvroDeserializationSchema,
)
from headrace.datastream.formats.json import JsonRowDeserializationSchema
from headrace.datastream.functions import (
    BroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.window import (
    DeltaTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from headrace.errors import HeadraceError, UnserializableRecordError, UserFunctionError
from headrace.runtime.exchange.partition import Custom
from headrace.runtime.operators.timestamps import TimestampsOperator
from headrace.runtime.pages.store import DictStore
from headrace.runtime.pages.table import PagedTable
from headrace.runtime.task import in_order, pickle_error
from headrace.testing import Harness, KeyedHarness, LocalRunner, TwoInputHarness

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
COUNT = ValueStateDescriptor("count", Types.LONG())


def _env() -> Any:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def _run(stream: Any, *records: Any) -> None:
    with LocalRunner(stream, parallelism=2) as job:
        job.run_batch(records)


def _first(record: Any) -> Any:
    return record[0]


# --- programs that are wrong -----------------------------------------------------------------


def empty_program() -> None:
    env = _env()
    env.from_collection([1]).map(str)
    env.explain()


def duplicate_uid() -> None:
    env = _env()
    env.from_collection([1]).map(str).uid("dedup").map(str).uid("dedup").print()
    env.explain()


def missing_uid() -> None:
    env = _env()
    env.get_config().disable_auto_generated_uids()
    env.from_collection([1]).uid("numbers").map(str).print().uid("out")
    env.explain()


def undeclared_type() -> None:
    env = _env()
    env.get_config().disable_generic_types()
    env.from_collection([1], Types.LONG()).map(lambda x: x).print()
    env.explain()


def refused_option() -> None:
    env = _env()
    env.configure(Configuration.from_dict({"security.kerberos.login.principal": "me"}))
    env.explain()


def unserializable_closure() -> None:
    lock = threading.Lock()
    env = _env()
    env.from_collection([1]).map(lambda x: (x, lock)).name("guarded").print()
    env.explain()


def parallelism_above_max() -> None:
    env = _env()
    stream = env.from_collection([1]).key_by(lambda x: x).reduce(max)
    stream.set_parallelism(8).set_max_parallelism(4).print()
    env.explain()


def key_by_nonsense() -> None:
    _env().from_collection([1]).key_by(1.5)


def process_without_keyed_function() -> None:
    _env().from_collection([1]).key_by(lambda x: x).process(ProcessBadly())


def repartition_of_a_keyed_stream() -> None:
    _env().from_collection([1]).key_by(lambda x: x).rebalance()


def union_of_types() -> None:
    env = _env()
    env.from_collection([1], Types.LONG()).union(env.from_collection(["a"], Types.STRING()))


def trigger_that_cannot_merge() -> None:
    windows = _env().from_collection([1]).key_by(lambda x: x)
    windows.window(EventTimeSessionWindows.with_gap(5)).trigger(DeltaTrigger.of(1, max))


# --- records that do not fit -----------------------------------------------------------------


def key_is_a_set() -> None:
    _run(_env().from_collection([]).key_by(lambda r: r["tags"]).map(str), {"tags": {"x"}})


def key_is_nan() -> None:
    _run(_env().from_collection([]).key_by(lambda r: r).map(str), float("nan"))


def record_of_another_type() -> None:
    stream = _env().from_collection([]).map(lambda x: str(x), output_type=Types.LONG())
    _run(stream.name("parse").rebalance().map(str), 1)


def record_without_timestamp() -> None:
    windows = _env().from_collection([]).key_by(lambda r: r)
    _run(windows.window(TumblingEventTimeWindows.of(10)).reduce(max), "click")


def timestamp_is_text() -> None:
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda r: r["at"])
    Harness(TimestampsOperator(strategy, None)).process_element({"at": "2024-01-01"})


def custom_partition_out_of_range() -> None:
    router = Custom(lambda key, n: key, lambda record: record)
    router.open(0, 2, 128)
    router.route(Records([7]))


def no_such_field() -> None:
    with KeyedHarness.for_rolling("sum", "amount", _first) as harness:
        harness.process_elements(("a", 1), ("a", 2))


# --- user code that raises -------------------------------------------------------------------


def map_raises() -> None:
    _run(_env().from_collection([]).map(lambda r: 10 // r["n"]).name("ratio"), {"n": 0})


class Ask(AsyncFunction[Any, Any]):
    async def async_invoke(self, value: Any) -> Any:
        if value["wait"]:
            await asyncio.sleep(3600)
        return value["answer"][0] if "answer" in value else value["missing"]


def _ask(record: Any) -> None:
    stream = _env().from_collection([])
    _run(AsyncDataStream.ordered_wait(stream, Ask(), "20 ms").name("lookup"), record)


def async_function_raises() -> None:
    _ask({"wait": False})


def async_function_without_answer_in_time() -> None:
    _ask({"wait": True})


def async_function_returns_a_number() -> None:
    _ask({"wait": False, "answer": [7]})


def key_selector_raises() -> None:
    _run(_env().from_collection([]).key_by(lambda r: r["user"]).map(str), {"name": "x"})


class ProcessBadly(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(5)


def open_raises() -> None:
    class NoModel(ProcessBadly):
        def open(self, runtime_context: Any) -> None:
            msg = "model.bin"
            raise FileNotFoundError(msg)

    Harness.for_process_function(NoModel())


def timer_raises() -> None:
    class Alarm(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(5)

        def on_timer(self, timestamp: int, ctx: Any) -> Any:
            yield Decimal("x")

    harness = KeyedHarness.for_process_function(Alarm(), key_by=lambda v: v)
    harness.process_element("a")
    harness.process_watermark(5)


# --- misuse of state and timers --------------------------------------------------------------


def timer_without_key() -> None:
    Harness.for_process_function(ProcessBadly()).process_element(1)


def state_without_key() -> None:
    class WantsState(ProcessBadly):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(COUNT)

    Harness.for_process_function(WantsState())


def state_used_in_open() -> None:
    class Early(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(COUNT).update(0)

        def process_element(self, value: Any, ctx: Any) -> Any: ...

    KeyedHarness.for_process_function(Early(), key_by=_first)


def state_declared_twice() -> None:
    class Twice(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(COUNT)
            runtime_context.get_list_state(ListStateDescriptor("count", Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Any: ...

    KeyedHarness.for_process_function(Twice(), key_by=_first)


class WritesBack(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put("x", 1)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any: ...


def broadcast_written_by_the_wrong_side() -> None:
    TwoInputHarness.for_broadcast_process_function(WritesBack(), RULES).process_element1(1)


def broadcast_not_declared() -> None:
    other = MapStateDescriptor("other", Types.STRING(), Types.INT())
    TwoInputHarness.for_broadcast_process_function(WritesBack(), other).process_element1(1)


def window_state_of_a_session() -> None:
    class Keeps(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            context.window_state()

    harness = KeyedHarness.for_windows(
        EventTimeSessionWindows.with_gap(5), lambda v: v, function=Keeps()
    )
    harness.process_element("a", timestamp=1)
    harness.end_of_input()


def state_of_a_later_version() -> None:
    PagedTable(DictStore({b"t\0d": b"\x63..."}), "t").get("key")


def packets_missing() -> None:
    list(in_order([(0, 0, b""), (0, 2, b"")]))


def message_that_is_no_number() -> None:
    row = Types.ROW_NAMED(["id"], [Types.LONG()])
    JsonRowDeserializationSchema.builder().type_info(row).build().deserialize(b'{"id":"seven"}')


def avro_message_without_schema_number() -> None:
    schema = AvroSchema(
        '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'
    )
    reader = ConfluentRegistryAvroDeserializationSchema.for_generic(schema, "http://127.0.0.1:8081")
    reader.deserialize(b'{"id":7}')


class Keeps(KeyedProcessFunction):
    """Keeps a lock in the state that it is given."""

    def __init__(self, get: str, put: str, descriptor: Any) -> None:
        self.get, self.put, self.descriptor = get, put, descriptor

    def open(self, runtime_context: Any) -> None:
        self.state = getattr(runtime_context, self.get)(self.descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        getattr(self.state, self.put)(threading.Lock())


def state_that_cannot_be_written() -> None:
    of_value = ValueStateDescriptor("connection", Types.PICKLED_BYTE_ARRAY())
    keyed = _env().from_collection([("a", 1)]).key_by(_first)
    _run(keyed.process(Keeps("get_state", "update", of_value)).uid("keeps"), ("a", 1))


def list_state_that_cannot_be_written() -> None:
    of_list = ListStateDescriptor("connections", Types.PICKLED_BYTE_ARRAY())
    keyed = _env().from_collection([("a", 1)]).key_by(_first)
    _run(keyed.process(Keeps("get_list_state", "add", of_list)).uid("keeps"), ("a", 1))


def record_that_cannot_be_written() -> None:
    locked = _env().from_collection([("a", 1)]).map(lambda r: (r[0], threading.Lock()))
    _run(locked.key_by(_first).map(_first).uid("first"), ("a", 1))


def record_that_cannot_be_made_again() -> None:
    loads(b"cno_such_module\nmake\n.")


def field_that_is_misspelt() -> None:
    rows = Types.ROW_NAMED(["name", "amount"], [Types.STRING(), Types.LONG()])
    stream = _env().from_collection([Row(name="a", amount=1)], rows).map(lambda row: row.amuont)
    _run(stream.uid("amounts"), Row(name="a", amount=1))


MESSAGES: list[Callable[[], None]] = [
    empty_program,
    duplicate_uid,
    missing_uid,
    undeclared_type,
    refused_option,
    unserializable_closure,
    parallelism_above_max,
    key_by_nonsense,
    process_without_keyed_function,
    repartition_of_a_keyed_stream,
    union_of_types,
    trigger_that_cannot_merge,
    key_is_a_set,
    key_is_nan,
    record_of_another_type,
    record_without_timestamp,
    timestamp_is_text,
    custom_partition_out_of_range,
    no_such_field,
    map_raises,
    async_function_raises,
    async_function_without_answer_in_time,
    async_function_returns_a_number,
    key_selector_raises,
    open_raises,
    timer_raises,
    timer_without_key,
    state_without_key,
    state_used_in_open,
    state_declared_twice,
    broadcast_written_by_the_wrong_side,
    broadcast_not_declared,
    window_state_of_a_session,
    state_of_a_later_version,
    packets_missing,
    message_that_is_no_number,
    state_that_cannot_be_written,
    list_state_that_cannot_be_written,
    record_that_cannot_be_written,
    record_that_cannot_be_made_again,
    field_that_is_misspelt,
    avro_message_without_schema_number,
]


@pytest.mark.parametrize("make", MESSAGES, ids=lambda make: make.__name__)
def test_golden_message(make: Callable[[], None]) -> None:
    with pytest.raises(HeadraceError) as caught:
        make()
    assert_golden(f"errors/{make.__name__}.txt", str(caught.value))


# --- errors travel ---------------------------------------------------------------------------

CLASSES = [
    getattr(errors, name) for name in errors.__all__ if isinstance(getattr(errors, name), type)
]


def test_a_function_of_the_script_is_not_known_to_workers() -> None:
    with pytest.raises(UnserializableRecordError, match="a_function_of_the_script") as caught:
        loads(b"c__main__\na_function_of_the_script\n.")
    assert "__reduce__" in str(caught.value.fix)


def test_the_tree_of_errors_is_complete() -> None:
    def below(cls: type) -> set[type]:
        return {cls}.union(*map(below, cls.__subclasses__()))

    found = {cls for cls in below(HeadraceError) if cls.__module__ == "headrace.errors"}
    assert found == set(CLASSES)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("dumps", [pickle.dumps, cloudpickle.dumps], ids=["pickle", "cloudpickle"])
def test_every_error_survives_pickling_with_all_its_parts(cls: Any, dumps: Any) -> None:
    error = cls("what happened", where="pipeline.py:3 .map(f)", fix="do this")
    error.extra = ("kept", 1)
    again = pickle.loads(dumps(error))
    assert type(again) is cls
    assert str(again) == str(error)
    assert (again.message, again.where, again.fix) == (error.message, error.where, error.fix)
    assert again.args == error.args
    assert again.extra == ("kept", 1)


def test_a_user_function_error_keeps_what_it_knows() -> None:
    error = UserFunctionError("it raised")
    error.step, error.uid, error.record, error.original = "map", "m", "1", "ValueError: x"
    error.user_traceback = '  File "a.py", line 1, in f\n'
    again = pickle.loads(pickle.dumps(error))
    assert (again.step, again.uid, again.record, again.original) == (
        "map",
        "m",
        "1",
        "ValueError: x",
    )
    assert str(again).endswith('File "a.py", line 1, in f')


def test_the_innermost_frame_is_where_it_raised() -> None:
    error = UserFunctionError("it raised")
    assert (error.raised_at, error.code) == (None, None)
    error.user_traceback = (
        '  File "/jobs/a.py", line 1, in f\n    parse(line)\n'
        '  File "/jobs/fails.py", line 10, in <lambda>\n    return int(line)\n    ^^^^^^^^\n'
    )
    assert (error.raised_at, error.code) == ("fails.py:10 in <lambda>", "return int(line)")
    error.user_traceback = '  File "a.py", line 1, in f\n  File "gone.py", line 3, in g\n'
    assert (error.raised_at, error.code) == ("gone.py:3 in g", None)


def test_a_long_line_shows_that_it_is_cut(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"short = 1\nlong = {'words ' * 40}\n")
    assert errors.line_of_code(str(program), 1) == "short = 1"
    cut = errors.line_of_code(str(program), 2)
    assert cut.startswith("long = words words")
    assert cut.endswith("...")
    assert len(cut) <= 100


def test_an_error_without_where_and_fix_is_one_line() -> None:
    assert str(errors.JobError("gone")) == "[JOB] gone"
    assert errors.DuplicateUidError("x").condition == "DUPLICATE_UID"


def test_a_cause_that_cannot_travel_is_left_behind() -> None:
    error = UserFunctionError("it raised")
    cause = ValueError("x")
    cause.lock = threading.Lock()  # type: ignore[attr-defined]
    error.__cause__ = cause
    found, found_cause = pickle.loads(pickle_error(error))
    assert str(found) == str(error)
    assert found_cause is None


def test_an_exception_of_our_own_code_is_an_internal_error() -> None:
    found, _ = pickle.loads(pickle_error(RuntimeError("our bug")))
    assert type(found) is errors.InternalError
    assert "RuntimeError: our bug" in str(found)
    assert "please report it" in str(found)
