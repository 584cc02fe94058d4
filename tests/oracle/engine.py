"""Builds a program on either engine: the `api` and `source` arguments of every program.

In: Program and Case (catalogue.py).  Out: named streams.  Next: run_pyflink.py and run_headrace.py
collect them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from oracle.canonical import text

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from oracle.catalogue import Case, Program

# Where public names live, in PyFlink's layout; headrace has the same.
_MODULES = (
    "common",
    "datastream",
    "common.watermark_strategy",
    "datastream.functions",
    "datastream.state",
    "datastream.window",
    "datastream.connectors.file_system",
    "datastream.connectors.number_seq",
    "datastream.formats.csv",
)


class Api:
    """`api.Name` is the public class of that name in pyflink or headrace.

    Programs bind what their functions need to local names (`Row = api.Row`), so that this object is
    never pickled.
    """

    def __init__(self, root: str) -> None:
        self.root = root

    def module(self, path: str) -> ModuleType:
        """Module of the engine, for instance `api.module("datastream.connectors.number_seq")`."""
        return importlib.import_module(f"{self.root}.{path}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        for path in _MODULES:
            try:
                module = self.module(path)
            except ModuleNotFoundError as error:
                if error.name is None or not error.name.startswith(self.root):
                    raise
                continue
            if hasattr(module, name):
                value = getattr(module, name)
                self.__dict__[name] = value
                return value
        raise AttributeError(f"{self.root} has no public name {name!r}")


class Source:
    """The input of a case: plain data, and the usual ways to make a stream of it."""

    def __init__(self, api: Api, env: Any, data: Any, directory: Path) -> None:
        self.data = data
        # Empty directory of this case, for programs that read or write files.
        self.directory = directory
        self._api = api
        self._env = env

    def part(self, name: str) -> list[Any]:
        """One named part of an input that has several."""
        return list(self.data[name])

    def stream(self, type_info: Any = None, part: str | None = None) -> Any:
        """The input as a bounded collection; without `type_info` records are pickled."""
        data = self.data if part is None else self.data[part]
        return self._env.from_collection(list(data), type_info)

    def event_time(self, stream: Any, position: int = -1) -> Any:
        """Takes timestamps from a field; the only watermark is the one at the end of the input.

        The periodic emission is switched off (interval 0), because PyFlink's depends on the wall
        clock.
        """
        self._env.get_config().set_auto_watermark_interval(0)
        strategy = self._api.WatermarkStrategy.for_monotonous_timestamps()
        # One instance, as the source: two would race, and no order per key would be left.
        parallelism = self._env.get_parallelism()
        self._env.set_parallelism(1)
        try:
            return stream.assign_timestamps_and_watermarks(self._with_assigner(strategy, position))
        finally:
            self._env.set_parallelism(parallelism)

    def watermark_per_record(self, stream: Any, position: int = -1, delay_ms: int = 0) -> Any:
        """Takes timestamps from a field and emits W = max_ts - delay - 1 after *every* record.

        headrace: a generator that emits in on_event (Java Flink's WatermarkStrategy.forGenerator).
        PyFlink has no custom generators, so there the periodic one runs every millisecond and each
        record sleeps in the same task just before it: the tick is waiting in the task's mailbox
        when the record is done. The stream must have parallelism 1, and records must come through a
        network exchange (a legacy source holds the task's lock and would starve the ticks).
        """
        if self._api.root == "pyflink":
            return self._slow_periodic(stream, position, delay_ms)
        generator = _punctuated_generator(self._api, delay_ms)
        strategy = self._api.WatermarkStrategy.for_generator(generator)
        return stream.assign_timestamps_and_watermarks(self._with_assigner(strategy, position))

    def _slow_periodic(self, stream: Any, position: int, delay_ms: int) -> Any:
        self._env.get_config().set_auto_watermark_interval(1)

        def wait(value: Any) -> Any:
            import time

            time.sleep(0.03)
            return value

        slow = stream.disable_chaining().map(wait, output_type=stream.get_type()).start_new_chain()
        delay = self._api.Duration.of_millis(delay_ms)
        strategy = self._api.WatermarkStrategy.for_bounded_out_of_orderness(delay)
        return slow.set_parallelism(1).assign_timestamps_and_watermarks(
            self._with_assigner(strategy, position)
        )

    def _with_assigner(self, strategy: Any, position: int) -> Any:
        class FieldTimestamps(self._api.TimestampAssigner):  # type: ignore[misc, name-defined]
            def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
                return int(value[position])

        return strategy.with_timestamp_assigner(FieldTimestamps())


def _punctuated_generator(api: Any, delay_ms: int) -> Any:
    class PerRecord(api.WatermarkGenerator):  # type: ignore[misc]
        def __init__(self) -> None:
            self.highest: int | None = None

        def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
            if self.highest is None or event_timestamp > self.highest:
                self.highest = event_timestamp
            output.emit_watermark(self.highest - delay_ms - 1)

        def on_periodic_emit(self, output: Any) -> None:
            pass

    return PerRecord


def build(program: Program, case: Case, api: Api, env: Any, directory: Path) -> dict[str, Any]:
    """Adds the program to the environment; returns its result streams by name."""
    env.set_parallelism(case.parallelism)
    if program.batch:
        env.set_runtime_mode(api.RuntimeExecutionMode.BATCH)
    directory.mkdir(parents=True, exist_ok=True)
    result = program.build(api, env, Source(api, env, case.data, directory))
    return result if isinstance(result, dict) else {"out": result}


def shown(program: Program, values: list[Any]) -> list[str] | dict[str, list[str]]:
    """Collected values as they are stored: texts, or texts by key where order per key counts."""
    if program.order_by is None:
        return [text(value) for value in values]
    by_key: dict[str, list[str]] = {}
    for value in values:
        by_key.setdefault(text(program.order_by(value)), []).append(text(value))
    return by_key
