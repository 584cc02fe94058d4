r"""Runs PyFlink's own tests of the Table API against headrace, on the local host.

    FLINK_PYTHON_SRC=<checkout of apache/flink>/flink-python \\
        python tests/oracle/pyflink_table_tests.py [name ...]

In: PyFlink's test files, read where they are; imports are turned from `pyflink.` to `headrace.` on
the way in.  Out: a line a test, and how many pass.  A test that touches a Java object is told as
NEEDS-JVM and not counted; one of pyflink_table_gaps.py as GAP, with the reason.  A name is any part
of ``file.Class.test``.
"""

from __future__ import annotations

import datetime
import os
import re
import sys
import tempfile
import threading
import traceback
import types
import unittest
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

from headrace.common import Configuration
from headrace.common import data_types as t
from headrace.common.changes import Changes
from headrace.common.types import Row
from headrace.connectors.collection.source import CollectionSource
from headrace.connectors.driver.collect import CollectSink
from headrace.connectors.tables import TABLE_CONNECTORS
from headrace.datastream import RuntimeExecutionMode, SinkFunction, StreamExecutionEnvironment
from headrace.spi.table_connector import (
    TableConnector,
    TableDefinition,
    TableSink,
    TableSource,
)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from oracle.pyflink_table_gaps import GAPS
from oracle.pyflink_table_gaps import reason as gap_reason

SOURCE = Path(os.environ.get("FLINK_PYTHON_SRC", "flink/flink-python")) / "pyflink"
COLLECTED: list[tuple[bool, str]] = []


class NeedsJvm(BaseException):
    """The test has reached a Java object; not an Exception, so that no assertRaises swallows it."""


class _Java:
    def __call__(self, *_: object) -> Any:
        raise NeedsJvm("a call")

    def __getattr__(self, name: str) -> Any:
        raise NeedsJvm(name)


# --- what Java's toString gives --------------------------------------------------------------


def java_text(value: Any, kind: t.DataType) -> str:
    if value is None:
        return "null"
    match kind:
        case t.BooleanType():
            return str(bool(value)).lower()
        case t.FloatType() | t.DoubleType():
            return _java_number(value, single=isinstance(kind, t.FloatType))
        case t.BinaryType() | t.VarBinaryType():
            return "[" + ", ".join(str(b - 256 if b > 127 else b) for b in value) + "]"
        case t.TimestampType():
            return _moment(value, kind.precision)
        case t.LocalZonedTimestampType():
            return _moment(value.replace(tzinfo=None), kind.precision) + "Z"
        case t.TimeType():
            return _time(value)
        case t.ArrayType():
            return "[" + ", ".join(java_text(item, kind.element_type) for item in value) + "]"
        case t.MapType():
            items = value.items() if isinstance(value, dict) else value
            shown = (
                f"{java_text(k, kind.key_type)}={java_text(v, kind.value_type)}" for k, v in items
            )
            return "{" + ", ".join(shown) + "}"
        case t.RowType():
            parts = zip(value, kind.field_types(), strict=True)
            return "+I[" + ", ".join(java_text(item, inner) for item, inner in parts) + "]"
        case _:
            return str(value)


def _moment(value: datetime.datetime, precision: int) -> str:
    text = f"{value:%Y-%m-%dT%H:%M}"
    if value.second or value.microsecond:
        text += f":{value:%S}"
    if value.microsecond:
        digits = f"{value.microsecond:06d}"
        text += "." + (digits[:3] if digits.endswith("000") else digits)
    return text


def _time(value: datetime.time) -> str:
    text = f"{value:%H:%M}"
    if value.second or value.microsecond:
        text += f":{value:%S}"
    if value.microsecond:
        digits = f"{value.microsecond:06d}"
        text += "." + (digits[:3] if digits.endswith("000") else digits)
    return text


def _java_number(value: float, *, single: bool) -> str:
    import numpy as np

    if value != value:
        return "NaN"
    shown = str(np.float32(value)) if single else repr(float(value))
    magnitude = abs(float(value))
    if magnitude == 0 or 1e-3 <= magnitude < 1e7:
        return shown if "e" not in shown and "." in shown else f"{float(value):.1f}"
    _, _, exponent = f"{float(shown):e}".partition("e")
    digits = repr(float(shown) / 10 ** int(exponent))
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


# --- Flink's testing sink ---------------------------------------------------------------------


class TestTables(TableConnector):
    """'connector'='test-sink': keeps what it is given, as text."""

    __test__ = False
    name = "test-sink"

    def summary(self) -> str:
        return "keeps lines in memory"

    def sink(self, definition: TableDefinition) -> TableSink:
        self.checked(definition)
        kinds = definition.written_type().field_types()

        def deliver(lines: list[Any]) -> None:
            for line in lines:
                kind = line[len(kinds)] if len(line) > len(kinds) else 0
                parts = (java_text(v, k) for v, k in zip(line, kinds, strict=False))
                COLLECTED.append((kind in (0, 2, None), f"+I[{', '.join(parts)}]"))

        return TableSink(CollectSink(deliver), accepts=lambda changes: changes)


class CollectionTables(TestTables):
    """'connector'='COLLECTION': a table in the memory of Flink's JVM, which is empty."""

    name = "COLLECTION"
    prefixes = ("",)  # any option will do

    def source(self, definition: TableDefinition) -> TableSource:
        self.checked(definition)
        return TableSource(CollectionSource([], definition.lines(Changes.INSERT)))


def results() -> list[str]:
    count: Counter[str] = Counter()
    for added, text in COLLECTED:
        count[text] += 1 if added else -1
    COLLECTED.clear()
    return [text for text, number in count.items() for _ in range(number)]


class _CollectingFunction(SinkFunction):
    """Flink's collecting sink of streams."""

    records: ClassVar[list[Any]] = []

    def invoke(self, value: Any, context: Any) -> None:
        _CollectingFunction.records.append(value)

    def get_results(self, is_python_object: bool = False, stringify: bool = True) -> list[Any]:
        found = list(_CollectingFunction.records)
        _CollectingFunction.records.clear()
        if not is_python_object:
            return [_stream_text(each) for each in found]
        return [str(each) if stringify else each for each in found]

    def clear(self) -> None:
        _CollectingFunction.records.clear()


def _stream_text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Row):
        return f"{value.get_row_kind()}[{', '.join(map(_stream_text, value))}]"
    if isinstance(value, tuple):
        return f"({','.join(map(_stream_text, value))})"
    if isinstance(value, float):
        return _java_number(value, single=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_stream_text, value))}]"
    if isinstance(value, datetime.datetime):
        return _moment(value, 6)
    return str(value)


def _modules() -> dict[str, types.ModuleType]:
    made: dict[str, types.ModuleType] = {}

    def module(name: str, **content: Any) -> None:
        found = types.ModuleType(name)
        found.__dict__.update(content)
        made[name] = found

    module(
        "suite_source_sink_utils",
        results=results,
        retract_results=results,
        upsert_results=lambda keys: results(),
    )
    module(
        "suite_java",
        get_gateway=lambda: _gateway(),
        get_field_value=_Java(),
        get_field=_Java(),
        is_instance_of=_Java(),
        load_java_class=_Java(),
        get_j_env_configuration=_Java(),
        invoke_method=_Java(),
        to_jarray=_Java(),
        get_java_class=_Java(),
    )
    module("suite_py4j", Py4JJavaError=Exception)
    module(
        "suite_flink_home",
        _find_flink_source_root=_Java(),
        _find_flink_home=_Java(),
        on_windows=lambda: False,
    )
    module(
        "suite_test_util",
        DataStreamTestSinkFunction=_CollectingFunction,
        SecondColumnTimestampAssigner=_Java(),
    )
    module("suite_cases", **_cases())
    return made


def _gateway() -> Any:
    from headrace.table.catalog import GenericInMemoryCatalog

    jvm = types.SimpleNamespace(GenericInMemoryCatalog=lambda name: GenericInMemoryCatalog(name))

    class Options:
        TABLE_CATALOG_NAME = types.SimpleNamespace(defaultValue=lambda: "default_catalog")
        TABLE_DATABASE_NAME = types.SimpleNamespace(defaultValue=lambda: "default_database")

    jvm.TableConfigOptions = Options

    class Jvm:
        def __getattr__(self, name: str) -> Any:
            if hasattr(jvm, name):
                return getattr(jvm, name)
            raise NeedsJvm(name)

    return types.SimpleNamespace(jvm=Jvm())


def _cases() -> dict[str, Any]:
    from headrace.table import StreamTableEnvironment

    class PyFlinkTestCase(unittest.TestCase):
        tempdir: str

        @classmethod
        def setUpClass(cls) -> None:
            cls.tempdir = tempfile.mkdtemp()

        @classmethod
        def assert_equals(cls, actual: Any, expected: Any) -> None:
            found, wanted = sorted(actual, key=str), sorted(expected, key=str)
            assert found == wanted, f"{found} != {wanted}"

        @classmethod
        def to_py_list(cls, actual: Any) -> list[Any]:
            return list(actual)

    def environment(mode: RuntimeExecutionMode | None) -> StreamExecutionEnvironment:
        settings = Configuration()
        settings.set_string("headrace.execution.host", "local")
        settings.set_string("table.local-time-zone", "UTC")
        env = StreamExecutionEnvironment.get_execution_environment(settings)
        env.set_parallelism(2)
        if mode is not None:
            env.set_runtime_mode(mode)
        return env

    class PyFlinkITTestCase(PyFlinkTestCase):
        mode: RuntimeExecutionMode | None = None
        env: StreamExecutionEnvironment

        @classmethod
        def setUpClass(cls) -> None:
            super().setUpClass()
            cls.env = environment(cls.mode)

    class _Tables(PyFlinkITTestCase):
        t_env: StreamTableEnvironment

        @classmethod
        def setUpClass(cls) -> None:
            super().setUpClass()
            cls.t_env = StreamTableEnvironment.create(cls.env)
            cls.t_env.get_config().set("python.fn-execution.bundle.size", "1")

    class PyFlinkStreamTableTestCase(_Tables):
        mode = RuntimeExecutionMode.STREAMING

    class PyFlinkBatchTableTestCase(_Tables):
        mode = RuntimeExecutionMode.BATCH

    class PyFlinkUTTestCase(_Tables):
        mode = RuntimeExecutionMode.STREAMING

    names: tuple[type, ...] = (PyFlinkTestCase, PyFlinkITTestCase, PyFlinkStreamTableTestCase)
    names += (PyFlinkBatchTableTestCase, PyFlinkUTTestCase)
    found: dict[str, Any] = {each.__name__: each for each in names}

    def exec_insert_table(table: Any, path: str) -> Any:
        return table.execute_insert(path).wait()

    def _exec(t_env: Any, table: Any, path: str) -> Any:
        return table.execute_insert(path).wait()

    def run_with_config(options: dict[str, str]) -> Any:
        def decorator(test: Any) -> Any:
            def wrapper(self: Any) -> Any:
                for key, value in options.items():
                    self.env._configuration.set_string(key, value)
                return test(self)

            return wrapper

        return decorator

    found |= {"exec_insert_table": exec_insert_table, "_exec": _exec}
    found |= {"run_with_config": run_with_config}
    found |= {"_load_specific_flink_module_jars": lambda *_: None}
    return found


_REPLACED = {
    r"pyflink\.testing\.test_case_utils": "suite_cases",
    r"pyflink\.testing import source_sink_utils": "SOURCE_SINK",
    r"pyflink\.java_gateway": "suite_java",
    r"pyflink\.util\.java_utils": "suite_java",
    r"py4j\.protocol": "suite_py4j",
    r"pyflink\.find_flink_home": "suite_flink_home",
    r"pyflink\.pyflink_gateway_server": "suite_flink_home",
    r"pyflink\.datastream\.tests\.test_util": "suite_test_util",
}


def load(path: Path) -> types.ModuleType:
    module = types.ModuleType(f"pyflink_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    text = path.read_text(encoding="utf-8")
    text = text.replace(
        "from pyflink.testing import source_sink_utils",
        "import suite_source_sink_utils as source_sink_utils",
    )
    for old, new in _REPLACED.items():
        text = re.sub(old, new, text)
    for name in re.findall(r"pyflink\.table\.tests\.(\w+)", text):
        module_name = f"pyflink_{name}"
        if module_name not in sys.modules:
            load(path.parent / f"{name}.py")
        text = text.replace(f"pyflink.table.tests.{name}", module_name)
    text = re.sub(r"from pyflink\b(?=[. ])", "from headrace", text)
    text = re.sub(r"import pyflink\b", "import headrace", text)
    text = re.sub(r"\bpyflink\.(?=\w+\.)", "headrace.", text)
    exec(compile(text, str(path), "exec"), module.__dict__)
    return module


def run(case: unittest.TestCase, limit_s: float) -> tuple[str, str]:
    outcome: list[tuple[str, str]] = []

    def work() -> None:
        try:
            type(case).setUpClass()
            case.setUp()
            try:
                getattr(case, case._testMethodName)()
            finally:
                case.tearDown()
            outcome.append(("PASS", ""))
        except unittest.SkipTest as error:
            outcome.append(("SKIP", str(error)))
        except NeedsJvm as error:
            outcome.append(("NEEDS-JVM", str(error)))
        except AttributeError as error:
            java = "_j_" in str(error)
            outcome.append(("NEEDS-JVM" if java else "FAIL", f"AttributeError: {error}"[:300]))
        except BaseException as error:
            lines = traceback.format_exc().strip().splitlines()
            outcome.append(("FAIL", f"{type(error).__name__}: {str(error)[:300]}"))
            if os.environ.get("SUITE_TRACE"):
                print("\n".join(lines[-40:]))

    COLLECTED.clear()
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(limit_s)
    return outcome[0] if outcome else ("FAIL", f"no result in {limit_s:.0f} s")


def judged(name: str, status: str, why: str) -> tuple[str, str]:
    """A failure that has a reason is no news; a test that passes needs none."""
    known = gap_reason(name)
    if known is None or status in ("NEEDS-JVM", "SKIP"):
        return status, why
    if status != "PASS":
        return "GAP", known
    if _exact(name):
        return "FAIL", f"passes: remove it from pyflink_table_gaps.py ({known})"
    return status, why


def _exact(name: str) -> bool:
    """Whether the list has this very test, and not only some of its file."""
    return any(part.endswith(name.rpartition(".")[2]) for part in GAPS if part in name)


def main() -> int:
    # some tests make environments of their own
    os.environ["HEADRACE_EXECUTION_HOST"] = "local"
    wanted = sys.argv[1:]
    sys.modules.update(_modules())
    _register()
    import headrace.table.types as table_types

    def needs_jvm(*_: object) -> Any:
        raise NeedsJvm("a Java type")

    table_types._from_java_data_type = table_types._to_java_data_type = needs_jvm  # type: ignore[attr-defined]
    counts: Counter[str] = Counter()
    for path in sorted((SOURCE / "table" / "tests").glob("test_*.py")):
        if "completeness" in path.stem or path.stem in ("test_shell_example", "test_dependency"):
            continue
        if wanted and not any(
            name.split(".")[0] in path.stem or path.stem in name for name in wanted
        ):
            continue
        try:
            module = load(path)
        except BaseException as error:
            print(f"FAIL      {path.stem}: cannot be loaded: {error!r}"[:300], flush=True)
            counts["FAIL"] += 1
            continue
        for cls in list(vars(module).values()):
            if not (isinstance(cls, type) and issubclass(cls, unittest.TestCase)):
                continue
            if cls.__module__ != module.__name__:
                continue
            for name in unittest.TestLoader().getTestCaseNames(cls):
                full = f"{path.stem}.{cls.__name__}.{name}"
                if wanted and not any(each in full for each in wanted):
                    continue
                status, why = judged(full, *run(cls(name), 60))
                counts[status] += 1
                print(f"{status:9} {full}  {why}".rstrip(), flush=True)
    print(dict(counts))
    return 0 if not counts["FAIL"] else 1


def _register() -> None:
    TABLE_CONNECTORS._own["test-sink"] = f"{__name__}:TestTables"
    TABLE_CONNECTORS._own["COLLECTION"] = f"{__name__}:CollectionTables"


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
