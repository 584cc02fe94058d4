"""RuntimeExecutionMode.BATCH on Spark: one batch over the whole input, whatever its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.common import Types
from headrace.connectors.files.source import FileSource
from headrace.datastream import RuntimeExecutionMode
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.functions import MapFunction
from headrace.formats.file_format import StreamFormat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.datastream import StreamExecutionEnvironment

COUNT = Types.TUPLE([Types.STRING(), Types.INT()])


def test_files_and_a_generator_through_two_keyed_stages_give_final_results(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    # limits of a batch do not count: it is one batch
    env = make_env({"source.max-records-per-batch": 5, "source.max-files-per-batch": 1})
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text("a b\na c\n" * 50)
    lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    words = env.from_source(lines.build(), None, "files").flat_map(
        lambda line: [(word, 1) for word in line.split()], output_type=COUNT
    )
    made = DataGeneratorSource(lambda n: ("g", 1), 1000, type_info=COUNT)
    counts = words.union(env.from_source(made, None, "made")).key_by(lambda pair: pair[0]).sum(1)
    with_total = counts.union(
        counts.map(lambda pair: ("all", pair[1]), output_type=COUNT)
        .key_by(lambda pair: pair[0])
        .sum(1)
    )
    with with_total.execute_and_collect() as records:
        found = sorted(records)
    assert found == [("a", 300), ("all", 1600), ("b", 150), ("c", 150), ("g", 1000)]


class FailsOnce(MapFunction):
    """Raises at the first record of the first try."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def map(self, value: Any) -> Any:
        if not self.marker.exists():
            self.marker.touch()
            raise RuntimeError("only once")
        return value


def test_a_failure_is_repaired_by_a_restart_and_a_second_run_reads_everything_again(
    make_env: Callable[..., StreamExecutionEnvironment], tmp_path: Path
) -> None:
    def run() -> list[Any]:
        env = make_env(
            {
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.delay": "10 ms",
                "execution.checkpointing.dir": str(tmp_path / "checkpoint"),
            }
        )
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        found: list[Any] = []
        pairs = env.from_collection([("a", 1), ("b", 1), ("a", 1)], COUNT)
        (
            pairs.key_by(lambda pair: pair[0])
            .sum(1)
            .map(FailsOnce(tmp_path / "failed"))
            .add_sink(found.append)
        )
        env.execute("counts")
        return sorted(found)

    assert run() == [("a", 2), ("b", 1)]
    assert (tmp_path / "failed").exists()
    assert run() == [("a", 2), ("b", 1)]
    assert not (tmp_path / "checkpoint").exists()
