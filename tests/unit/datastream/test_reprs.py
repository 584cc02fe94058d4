"""A stream in a notebook or debugger says what it is and where it comes from."""

from __future__ import annotations

import re
from typing import Any

from headrace.common import Types
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.window import TumblingEventTimeWindows

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


def shown(stream: Any) -> str:
    return re.sub(r"(test_reprs.py):\d+ .*?(?=, keyed|>)", r"\1", repr(stream))


def test_a_stream_names_its_step_its_type_and_its_line() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    pairs = env.from_collection([("a", 1)], PAIR)
    mapped = pairs.map(lambda pair: pair).name("same")
    assert shown(pairs) == (
        "<DataStream 'Collection Source' of TupleTypeInfo(String, Long), from test_reprs.py>"
    )
    assert shown(mapped) == "<DataStream 'same' of any records, from test_reprs.py>"
    assert 'pairs.map(lambda pair: pair).name("same")' in repr(mapped)
    assert shown(mapped.get_side_output(OutputTag("late", PAIR))) == (
        "<DataStream 'same' side output 'late' of TupleTypeInfo(String, Long), from test_reprs.py>"
    )
    keyed = pairs.key_by(lambda pair: pair[0])
    assert shown(keyed).endswith("from test_reprs.py, keyed by 0>")
    windowed = keyed.window(TumblingEventTimeWindows.of(10))
    assert shown(windowed).startswith(
        "<WindowedStream of TumblingEventTimeWindows over 'Collection Source' of Tuple"
    )
    assert shown(pairs.connect(mapped)).startswith("<ConnectedStreams <DataStream 'Collection")
    sink = pairs.print()
    assert shown(sink) == "<DataStreamSink 'Print', from test_reprs.py>"
