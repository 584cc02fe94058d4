"""Programs in a process of their own: what a user of a terminal sees."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from spark.conftest import Script

FAILING = """
    from headrace.datastream import StreamExecutionEnvironment

    def invert(value):
        return 1 / value

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    numbers = env.from_collection([2, 1, 0])
    numbers.map(invert).key_by(lambda x: x).reduce(max).print()
    env.execute("failing")
"""


def test_a_failing_script_ends_with_the_users_error_and_nothing_of_sparks(
    run_script: Callable[..., Script],
) -> None:
    script = run_script(FAILING)

    code, _out, err = script.end()

    assert code == 1
    for word in ("Py4J", "py4j", "org.apache.spark", "StreamingQueryException", "PythonException"):
        assert word not in err
    last = err.rstrip().splitlines()[-7:]
    assert any("[USER_FUNCTION] " in line and "ZeroDivisionError" in line for line in last)
    assert any("pipeline.py:9 numbers.map(invert)" in line for line in last)
    assert any("given: 0" in line for line in last)
    assert any("return 1 / value" in line for line in last)
    assert len(err.splitlines()) < 60
    assert script.leftovers() == []
    assert script.living_children() == []


RECORDS_OF_MAIN = """
    import sys
    from dataclasses import dataclass
    from typing import NamedTuple

    from headrace.common import Types
    from headrace.datastream import StreamExecutionEnvironment
    from headrace.datastream.connectors.file_system import FileSink
    from prices import with_tax

    class Order(NamedTuple):
        item: str
        price: int

    @dataclass
    class Total:
        item: str
        price: int

        def plus(self, other: "Total") -> "Total":
            return Total(self.item, self.price + other.price)

    def total_of(order: Order):
        return Total(order.item, with_tax(order.price))

    if __name__ == "__main__":
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        orders = env.from_collection([Order("tea", 100), Order("milk", 50), Order("tea", 10)])
        totals = orders.map(total_of).key_by(lambda t: t.item).reduce(lambda a, b: a.plus(b))
        totals.sink_to(FileSink.json(sys.argv[1]))
        for total in totals.execute_and_collect():
            assert type(total) is Total
            print(total)
"""


def test_records_may_be_of_classes_in_the_script_and_modules_beside_it_are_found(
    run_script: Callable[..., Script], tmp_path: Path
) -> None:
    (tmp_path / "prices.py").write_text("def with_tax(price):\n    return price * 12 // 10\n")
    script = run_script(RECORDS_OF_MAIN, str(tmp_path / "out"))

    code, out, err = script.end()

    assert code == 0, err
    assert sorted(out.splitlines()) == [
        "Total(item='milk', price=60)",
        "Total(item='tea', price=120)",
        "Total(item='tea', price=132)",
    ]
    lines = [line for file in (tmp_path / "out").glob("*.json") for line in file.open()]
    written = sorted((row["item"], row["price"]) for row in map(json.loads, lines))
    assert written == [("milk", 60), ("tea", 120), ("tea", 132)]
    assert err == ""  # nothing of Spark's chatter either
    assert script.leftovers() == []
    assert script.living_children() == []


ENDLESS = """
    import sys
    from headrace.datastream import StreamExecutionEnvironment
    from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(20))
    numbers = env.from_source(source, None, "numbers")
    numbers.key_by(lambda n: n % 3).reduce(lambda a, b: a + b).add_sink(
        lambda total: print("total", total, flush=True)
    )
    env.execute("endless")
"""


def test_ctrl_c_ends_a_job_cleanly(run_script: Callable[..., Script]) -> None:
    script = run_script(ENDLESS)
    assert script.process.stdout is not None
    assert script.process.stdout.readline().startswith("total ")  # it is running

    script.interrupt()
    code, _out, err = script.end()

    assert code in (130, -2, 1)  # as Python ends after Ctrl-C
    assert err.rstrip().splitlines()[-1] == "KeyboardInterrupt"
    for word in ("Py4J", "py4j", "org.apache.spark", "Exception in"):
        assert word not in err
    assert script.leftovers() == []
    assert script.living_children() == []


STOPPED_TWICE = """
    import logging, sys, time
    from headrace.datastream import StreamExecutionEnvironment
    from headrace.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy

    logging.basicConfig()
    seen = []

    def slow(n):
        time.sleep(0.05)  # so that a batch is running whenever the job is told to stop
        return n

    def start():
        seen.clear()
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        source = DataGeneratorSource(lambda n: n, None, RateLimiterStrategy.per_second(100))
        env.from_source(source, None, "numbers").map(slow).add_sink(seen.append)
        client = env.execute_async("slow")
        while not seen:
            time.sleep(0.05)
        time.sleep(1)
        return client

    client = start()
    client.cancel().result(120)
    print(client.get_job_status().result().name)
    client = start()
    client.stop_with_savepoint(False, sys.argv[1]).result(120)
    print(client.get_job_status().result().name)
"""


def test_stopping_in_the_middle_of_a_batch_is_quiet_where_logging_is_configured(
    run_script: Callable[..., Script], tmp_path: Path
) -> None:
    script = run_script(STOPPED_TWICE, str(tmp_path / "savepoints"))

    code, out, err = script.end()

    assert (code, out.split(), err) == (0, ["CANCELED", "FINISHED"], "")
    assert script.living_children() == []


OWN_SESSION = """
import logging
import os
import sys

os.environ.pop("PYSPARK_PYTHON", None)  # as in a virtual environment that is not activated
os.environ["PATH"] = "/usr/bin:/bin"
logging.basicConfig(level=logging.INFO)

from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
print("started", file=sys.stderr, flush=True)

from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment


def tell(pair):
    print("told by a worker:", pair, file=sys.stderr)
    return pair


env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
pairs = env.from_collection([("a", 1), ("a", 2)], Types.TUPLE([Types.STRING(), Types.INT()]))
print(list(pairs.key_by(lambda pair: pair[0]).sum(1).map(tell).execute_and_collect()))
"""


def test_a_session_of_ones_own_is_quiet_and_runs_this_interpreter(
    run_script: Callable[..., Script],
) -> None:
    code, out, err = run_script(OWN_SESSION).end()
    assert code == 0, err
    assert out == "[('a', 1), ('a', 3)]\n"
    lines = [line for line in err.partition("started\n")[2].splitlines() if line.strip()]
    ours = [line for line in lines if line.startswith("INFO:headrace.")]
    assert [line for line in lines if line not in ours] == [
        "told by a worker: ('a', 1)",
        "told by a worker: ('a', 3)",
    ]
