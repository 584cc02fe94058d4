"""The joins of Flink's Java API on either engine: PyFlink's DataStream has none of its own.

In: streams of rows (key, number, time).  Out: streams of rows (key, numbers as text, timestamp).
On PyFlink java/Joins.java is compiled (needs a JDK), added to the job and called; on headrace the
same program is written with its Python API.  Next: programs/window_joins.py
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parent / "java" / "Joins.java"


def joins_of(api: Any, env: Any) -> Any:
    """The joins of an engine."""
    return FlinkJoins(env) if api.root == "pyflink" else HeadraceJoins(api)


class FlinkJoins:
    """Java Flink's joins, called through PyFlink's gateway."""

    def __init__(self, env: Any) -> None:
        from pyflink.java_gateway import get_gateway

        env.add_jars(jar_of(SOURCE).as_uri())
        self._java = get_gateway().jvm.headrace.oracle.Joins

    def _stream(self, j_stream: Any) -> Any:
        from pyflink.datastream import DataStream

        return DataStream(j_stream)

    def half(self, stream: Any, rest: int) -> Any:
        """The records with an even (0) or odd (1) number."""
        return self._stream(self._java.half(stream._j_data_stream, rest))

    def join(self, first: Any, second: Any, size: int, slide: int = 0, lateness: int = 0) -> Any:
        """A window join; a size below 0 is the gap of sessions."""
        streams = first._j_data_stream, second._j_data_stream
        return self._stream(self._java.join(*streams, size, slide, lateness))

    def co_group(
        self, first: Any, second: Any, size: int, slide: int = 0, lateness: int = 0
    ) -> Any:
        """Both groups of a key and window."""
        streams = first._j_data_stream, second._j_data_stream
        return self._stream(self._java.coGroup(*streams, size, slide, lateness))

    def interval_join(
        self, left: Any, right: Any, lower: int, upper: int, *, exclusive: bool = False
    ) -> dict[str, Any]:
        """An interval join: its pairs, and the late records of both sides."""
        java = self._java
        streams = left._j_data_stream, right._j_data_stream
        joined = java.intervalJoin(*streams, lower, upper, exclusive)
        late = {side: java.late(joined, side) for side in ("late-left", "late-right")}
        found = {"pairs": joined, **late}
        return {name: self._stream(java.stamped(stream)) for name, stream in found.items()}


def jar_of(source: Path) -> Path:
    """The compiled classes, made once for each version of the source, next to PyFlink."""
    import pyflink

    text = source.read_bytes()
    jar = Path(sys.prefix) / f"oracle-{source.stem}-{hashlib.sha256(text).hexdigest()[:12]}.jar"
    if jar.exists():
        return jar
    compiler = shutil.which("javac")
    if compiler is None:
        raise RuntimeError(f"{source.name} must be compiled: install a JDK (no javac on PATH)")
    (library,) = (Path(pyflink.__path__[0]) / "lib").glob("flink-dist-*.jar")
    with tempfile.TemporaryDirectory(prefix="oracle-java-") as scratch:
        classes, packed = Path(scratch) / "classes", Path(scratch) / "packed.jar"
        command = [compiler, "--release", "11", "-cp", str(library), "-d", str(classes)]
        subprocess.run([*command, str(source)], check=True, capture_output=True, text=True)
        with zipfile.ZipFile(packed, "w") as archive:
            for file in sorted(classes.rglob("*.class")):
                archive.write(file, file.relative_to(classes))
        ready = jar.with_suffix(f".{os.getpid()}")
        shutil.copy(packed, ready)
        ready.replace(jar)  # another process may be doing the same
    return jar


class HeadraceJoins:
    """The same with headrace's own API."""

    def __init__(self, api: Any) -> None:
        self._api = api

    def half(self, stream: Any, rest: int) -> Any:
        """The records with an even (0) or odd (1) number."""
        return stream.filter(lambda row: row[1] % 2 == rest)

    def _windowed(self, streams: Any, size: int, slide: int, lateness: int) -> Any:
        api = self._api
        if size < 0:
            assigner = api.EventTimeSessionWindows.with_gap(-size)
        elif slide:
            assigner = api.SlidingEventTimeWindows.of(size, slide)
        else:
            assigner = api.TumblingEventTimeWindows.of(size)
        windowed = streams.where(lambda row: row[0]).equal_to(lambda row: row[0]).window(assigner)
        return windowed.allowed_lateness(lateness)

    def join(self, first: Any, second: Any, size: int, slide: int = 0, lateness: int = 0) -> Any:
        """A window join; a size below 0 is the gap of sessions."""
        windowed = self._windowed(first.join(second), size, slide, lateness)
        return self._stamped(windowed.apply(lambda a, b: (a[0], f"{a[1]}|{b[1]}")))

    def co_group(
        self, first: Any, second: Any, size: int, slide: int = 0, lateness: int = 0
    ) -> Any:
        """Both groups of a key and window."""

        def groups(first: Any, second: Any) -> Any:
            key = (*first, *second)[0][0]
            before = "".join(f"{row[1]} " for row in first)
            yield key, before + "|" + "".join(f" {row[1]}" for row in second)

        windowed = self._windowed(first.co_group(second), size, slide, lateness)
        return self._stamped(windowed.apply(groups))

    def interval_join(
        self, left: Any, right: Any, lower: int, upper: int, *, exclusive: bool = False
    ) -> dict[str, Any]:
        """An interval join: its pairs, and the late records of both sides."""

        class Times(self._api.ProcessJoinFunction):  # type: ignore[misc, name-defined]
            def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
                times = f"{ctx.get_left_timestamp()},{ctx.get_right_timestamp()}"
                yield left[0], f"{left[1]}|{right[1]} at {times}"

        tags = {side: self._api.OutputTag(side) for side in ("late-left", "late-right")}
        joined = (
            left.key_by(lambda row: row[0])
            .interval_join(right.key_by(lambda row: row[0]))
            .between(lower, upper)
            .side_output_left_late_data(tags["late-left"])
            .side_output_right_late_data(tags["late-right"])
        )
        if exclusive:
            joined = joined.lower_bound_exclusive().upper_bound_exclusive()
        pairs = joined.process(Times())
        found = {"pairs": pairs, **{side: pairs.get_side_output(tags[side]) for side in tags}}
        return {name: self._stamped(stream) for name, stream in found.items()}

    def _stamped(self, stream: Any) -> Any:
        row = self._api.Row

        class Stamp(self._api.ProcessFunction):  # type: ignore[misc, name-defined]
            def process_element(self, value: Any, ctx: Any) -> Any:
                yield row(f0=value[0], f1=str(value[1]), f2=ctx.timestamp())

        return stream.process(Stamp())
