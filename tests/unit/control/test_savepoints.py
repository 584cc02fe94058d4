"""Savepoints on disk, without Spark: the format, what fits a program, state from Python values."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from headrace.cli.main import app
from headrace.common import Types
from headrace.common.types import Row
from headrace.control.fingerprint import Fingerprint, KeptStep
from headrace.control.restore import check, compare
from headrace.control.savepoints import (
    METADATA,
    SavedOperator,
    SavedSource,
    SavedState,
    StoredSavepoint,
    delete_savepoint,
    list_savepoints,
    read_savepoint,
    verify,
)
from headrace.errors import ConnectorError, InvalidArgumentError, SavepointError, StateError
from headrace.hosts.spark import host as spark_host
from headrace.runtime.pages.store import DictStore
from headrace.runtime.savepoint.files import Claim, SavepointLoader
from headrace.runtime.state.provider import StateProvider
from headrace.runtime.state.recorded import Recorded
from headrace.state import Savepoint, first_rows

if TYPE_CHECKING:
    from collections.abc import Callable

PEOPLE = [("ann", 3), ("bob", 5), ("cem", 8)]


@pytest.fixture
def saved(tmp_path: Path) -> str:
    made = Savepoint.new(64).with_state("count", "total", PEOPLE, type_info=Types.LONG())
    return made.write(str(tmp_path / "all" / "first"))


def headrace(*words: str) -> Any:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})


# --- the format ----------------------------------------------------------------------------------


def test_a_savepoint_that_cannot_be_written_fits_jobs_that_run_and_that_failed(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConnectorError) as refused:
        Savepoint.new(64).with_state("count", "total", PEOPLE, type_info=Types.LONG()).write(
            str(tmp_path / "file" / "first")
        )
    assert "then try again (a job that has failed: start it again" in (refused.value.fix or "")


def test_what_was_written_is_read_and_whole(saved: str) -> None:
    found = read_savepoint(saved)
    verify(found)
    (operator,) = found.operators
    assert (operator.uid, operator.max_parallelism) == ("count", 64)
    (state,) = operator.states
    assert (state.name, state.entries, state.type_text) == ("user/total", 3, "value of LONG")
    assert found.bytes == sum((Path(saved) / name).stat().st_size for name in found.files)


def change_byte(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (change_byte, "does not match its checksum"),
        (lambda file: file.write_bytes(file.read_bytes()[:-1]), "bytes instead of"),
        (lambda file: file.unlink(), "is missing"),
    ],
)
def test_a_file_that_is_changed_cut_off_or_gone_is_refused(
    saved: str, harm: Callable[[Path], Any], message: str
) -> None:
    harm(next(Path(saved).glob("state/*.parquet")))
    with pytest.raises(SavepointError, match=message):
        verify(read_savepoint(saved))
    with pytest.raises(SavepointError, match=message):
        Savepoint.load(saved).write(f"{saved}-again")
    assert not Path(f"{saved}-again").exists()
    assert headrace("savepoints", "verify", saved).exit_code == 2


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda text: text[: len(text) // 2], "is incomplete"),
        (lambda text: text.replace('"batch_id": 0', '"batch_id": 7'), "its own checksum"),
        (lambda text: text.replace('"format": 1', '"format": 9'), "has format 9"),
        (lambda text: "[]", "is incomplete"),
    ],
)
def test_metadata_that_are_changed_or_of_a_later_format_are_refused(
    saved: str, harm: Callable[[str], str], message: str
) -> None:
    file = Path(saved) / METADATA
    file.write_text(harm(file.read_text()))
    with pytest.raises(SavepointError, match=message):
        read_savepoint(saved)
    answer = headrace("savepoints", "describe", saved, "--json")
    assert answer.exit_code == 2
    assert json.loads(answer.stdout)["error"]["condition"] == "SAVEPOINT"


def test_a_directory_without_metadata_is_no_savepoint(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SavepointError, match="no savepoint here"):
        delete_savepoint(str(tmp_path))
    assert (tmp_path / "file").exists()


def test_savepoints_are_listed_and_deleted(saved: str) -> None:
    folder = str(Path(saved).parent)
    second = Savepoint.load(saved).write(f"{folder}/second")
    assert [s.location for s in list_savepoints(folder)] == [saved, second]
    delete_savepoint(saved)
    assert [s.location for s in list_savepoints(folder)] == [second]
    assert not Path(saved).exists()


# --- what fits -----------------------------------------------------------------------------------


def stored(**changes: Any) -> StoredSavepoint:
    total = SavedState("user/total", {}, 5)
    base = StoredSavepoint(
        "/sp", "ab", "job", "/job", 3, 0, drained=False,
        operators=(SavedOperator("count", "Count", "process", 2, 128, (total,)),),
        sources=(SavedSource("src", "FileSource", ("{}",), (0,)),),
    )  # fmt: skip
    return replace(base, **changes)


def program(*steps: KeptStep, source: str = "FileSource") -> Fingerprint:
    return Fingerprint((("src", source),), 1, 2, commands=False, steps=steps)


COUNT = KeptStep("count", "process", "Count", 1, 4, 128)


def fates(savepoint: StoredSavepoint, now: Fingerprint, **renamed: str) -> dict[str, str]:
    return {match.uid: match.fate for match in compare(savepoint, now, renamed)}


def test_kept_new_dropped_renamed_and_wrong_operators() -> None:
    assert fates(stored(), program(COUNT)) == {"count": "kept", "src": "kept"}
    more = replace(COUNT, uid="more")
    assert fates(stored(), program(COUNT, more))["more"] == "new"
    assert fates(stored(), program(more)) == {"more": "new", "count": "dropped", "src": "kept"}
    assert fates(stored(), program(more), count="more") == {"more": "kept", "src": "kept"}
    assert fates(stored(), program(COUNT), missing="x")["x"] == "wrong"
    assert fates(stored(), program(replace(COUNT, max_parallelism=64)))["count"] == "wrong"
    assert fates(stored(), program(replace(COUNT, kind="window")))["count"] == "wrong"
    assert fates(stored(), program(COUNT, source="KafkaSource"))["src"] == "wrong"
    assert fates(stored(sources=()), program(COUNT))["src"] == "new"
    empty = SavedOperator("count", "Count", "process", 2, 128)
    assert fates(stored(operators=(empty,)), program()) == {"count": "kept", "src": "kept"}


def test_a_start_that_would_lose_state_has_to_be_allowed() -> None:
    lost = compare(stored(), program())
    with pytest.raises(SavepointError, match="no step of the program claims: 'count'"):
        check(stored(), lost, allow_dropped=False)
    check(stored(), lost, allow_dropped=True)
    wrong = compare(stored(), program(replace(COUNT, max_parallelism=64)))
    with pytest.raises(SavepointError, match=r"set_max_parallelism\(128\)"):
        check(stored(), wrong, allow_dropped=True)


def test_types_that_are_declared_before_a_start_are_compared() -> None:
    kept = SavedState(
        "broadcast/rules", {"kind": "broadcast", "type": {"map": ["string", "int"]}}, 2
    )
    old = stored(operators=(SavedOperator("count", "Count", "process", 2, 128, (kept,)),))

    def fate(value: str) -> Any:
        declared = {"broadcast/rules": Recorded("broadcast", {"map": ["string", value]})}
        (match,) = (
            m for m in compare(old, program(COUNT), {}, {"count": declared}) if m.uid == "count"
        )
        return match

    assert fate("int").fate == "kept"
    assert fate("double").fate == "converted"
    assert "from broadcast of MAP<STRING, INT> to broadcast of MAP<STRING, DOUBLE>" in (
        fate("double").note
    )
    assert fate("string").fate == "wrong"


def test_a_new_state_inside_a_kept_operator_is_listed() -> None:
    declared = {"count": {name: Recorded("value", "long") for name in ("user/n", "user/last")}}
    kept = SavedState("user/n", {"kind": "value", "type": "long"}, 2)
    old = stored(operators=(SavedOperator("count", "Count", "process", 2, 128, (kept,)),))
    (match,) = (m for m in compare(old, program(COUNT), {}, declared) if m.uid == "count")
    assert match.fate == "kept"
    assert match.note.endswith("; new state user/last starts empty")


# --- state from values ---------------------------------------------------------------------------


def restored(location: str, uid: str, parallelism: int) -> list[DictStore]:
    """The stores of a new job's subtasks."""
    found = read_savepoint(location)
    width = next(o.max_parallelism for o in found.operators if o.uid == uid)
    claims = ((Claim(uid, uid, parallelism, width),),)
    loader = SavepointLoader(location, tuple(found.state_files()), claims)
    stores = [DictStore() for _ in range(parallelism)]
    for subtask, store in enumerate(stores):
        loader(0, subtask, store)
    return stores


def contents(stores: list[DictStore], path: str) -> list[tuple[Any, Any]]:
    return [
        entry for s in stores for entry in StateProvider(s, path.split("/")[0]).table(
            path.partition("/")[2]
        ).items()
    ]  # fmt: skip


@pytest.mark.parametrize("parallelism", [1, 3])
def test_a_job_begins_with_state_from_values(saved: str, parallelism: int) -> None:
    assert sorted(contents(restored(saved, "count", parallelism), "count/user/total")) == PEOPLE


def test_states_are_replaced_added_and_left_out_and_the_old_one_stays(
    saved: str, tmp_path: Path
) -> None:
    before = {file: file.read_bytes() for file in Path(saved).rglob("*") if file.is_file()}
    made = (
        Savepoint.load(saved)
        .with_state("count", "total", [("ann", 30)])
        .with_state("count", "seen", [("ann", ["a", "b"])], kind="list")
        .with_state("rules", "limits", [("x", 1.5)], kind="broadcast")
        .with_state("last", "place", [Row(k="ann", x=1)], key=lambda r: r.k, value=lambda r: (r.x,))
    )
    location = made.write(str(tmp_path / "second"))
    names = {
        (o.uid, s.name): s.type_text for o in read_savepoint(location).operators for s in o.states
    }
    assert names == {
        ("count", "user/total"): "value of LONG",
        ("count", "user/seen"): "list of LIST<STRING>",
        ("rules", "broadcast/limits"): "broadcast of MAP<STRING, DOUBLE>",
        ("last", "user/place"): "value of TUPLE<LONG>",
    }
    assert contents(restored(location, "count", 2), "count/user/total") == [("ann", 30)]
    for store in restored(location, "rules", 2):  # every subtask has broadcast state
        assert contents([store], "rules/broadcast/limits") == [("x", 1.5)]
    third = Savepoint.load(location).without_operator("count").write(str(tmp_path / "third"))
    assert {o.uid for o in read_savepoint(third).operators} == {"rules", "last"}
    assert {f: f.read_bytes() for f in Path(saved).rglob("*") if f.is_file()} == before


def test_values_that_do_not_fit_leave_nothing_behind(saved: str, tmp_path: Path) -> None:
    wrong = Savepoint.load(saved).with_state("count", "total", [("ann", "many")])
    with pytest.raises(StateError, match="the value of key 'ann' does not fit"):
        wrong.write(str(tmp_path / "second"))
    assert not (tmp_path / "second").exists()
    with pytest.raises(SavepointError, match="already something here"):
        Savepoint.load(saved).write(saved)
    with pytest.raises(StateError, match="no operator 'other'"):
        Savepoint.load(saved).without_operator("other")
    with pytest.raises(InvalidArgumentError, match="kind is 'heap'"):
        Savepoint.new().with_state("a", "b", [], kind="heap")


def test_what_is_not_there_is_told_with_what_is(saved: str, tmp_path: Path) -> None:
    assert first_rows(saved, "count", "total", 1) is not None
    with pytest.raises(StateError, match="no operator 'cuont'") as operator:
        first_rows(saved, "cuont", "total", 1)
    assert "count" in str(operator.value.fix)
    with pytest.raises(StateError, match="no state 'sum'") as state:
        first_rows(saved, "count", "sum", 1)
    assert "user/total" in str(state.value.fix)
    answer = headrace("state", "read", str(tmp_path), "count", "total")
    assert answer.exit_code == 2
    assert "neither a savepoint nor a job's checkpoint" in answer.stderr


# --- the commands --------------------------------------------------------------------------------

PROGRAM = """
from headrace.common import Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment

class Count(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield value

env = StreamExecutionEnvironment.get_execution_environment()
env.set_max_parallelism({width})
words = env.from_collection(["a"], Types.STRING()).uid("src")
words.key_by(lambda word: word, key_type=Types.STRING()).process(Count()).uid("{uid}").print()
env.execute("job")
"""


def test_state_of_a_savepoint_is_read_without_spark(saved: str, tmp_path: Path) -> None:
    made = (
        Savepoint.load(saved)
        .with_state("count", "seen", [("ann", ["a", "b", "c"])], kind="list")
        .with_state("rules", "limits", [("x", 1.5)], kind="broadcast")
        .with_state("last", "place", [("ann", ("x", 1))])
    )
    location = made.write(str(tmp_path / "more"))
    read = subprocess.run(
        [sys.executable, "-c", READ_WITHOUT_SPARK, location, "count", "total", "--limit", "2"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split() for line in read.stdout.splitlines()] == [
        ["key", "value"],
        *([str(key), str(total)] for key, total in PEOPLE[:2]),
    ]
    assert "the first 2; --limit shows more" in read.stderr
    shown = headrace("state", "read", location, "count", "seen", "--json", "--limit", "2")
    assert json.loads(shown.stdout) == {
        "columns": ["key", "position", "value"],
        "entries": [{"key": "ann", "position": n, "value": v} for n, v in enumerate("ab")],
        "more": True,
    }
    rules = headrace("state", "read", location, "rules", "limits")
    assert rules.stdout.split() == ["map_key", "value", "x", "1.5"]
    place = headrace("state", "read", location, "last", "place")
    assert place.stdout.split() == ["key", "value", "ann", "f0=x,", "f1=1"]


READ_WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = None  # whoever imports it fails
from headrace.cli.main import app
app(["state", "read", *sys.argv[1:]])
"""


def test_list_describe_and_delete(saved: str) -> None:
    listed = headrace("savepoints", "list", str(Path(saved).parent))
    assert listed.exit_code == 0
    assert "first" in listed.stdout
    described = headrace("savepoints", "describe", saved)
    assert "user/total" in described.stdout
    assert "value of LONG" in described.stdout
    document = json.loads(headrace("savepoints", "describe", saved, "--json").stdout)
    assert document["entries"] == 3
    assert headrace("savepoints", "verify", saved).stdout.startswith("whole: ")
    assert headrace("savepoints", "delete", saved).exit_code == 0
    assert headrace("savepoints", "delete", saved).exit_code == 2
    assert headrace("savepoints", "list", "/nowhere/at/all").exit_code == 2


@pytest.mark.parametrize("group", ["savepoint", "savepoints"])
def test_diff_says_before_a_start_what_would_happen(saved: str, tmp_path: Path, group: str) -> None:
    file = tmp_path / "job.py"
    file.write_text(PROGRAM.format(uid="count", width=64))
    fits = headrace(group, "diff", saved, str(file))
    assert fits.exit_code == 0, fits.output
    assert "count     kept  3 entries" in fits.stdout
    file.write_text(PROGRAM.format(uid="totals", width=64))
    lost = headrace(group, "diff", "--json", saved, str(file))
    assert lost.exit_code == 2
    document = json.loads(lost.stdout)
    assert not document["starts"]
    found = {each["uid"]: each["fate"] for each in document["operators"]}
    assert found == {"totals": "new", "count": "dropped", "src": "new"}
    assert headrace(group, "diff", "-n", saved, str(file)).exit_code == 0
    assert headrace(group, "diff", "--map-uid", "count:totals", saved, str(file)).exit_code == 0
    assert headrace(group, "diff", "--map-uid", "count", saved, str(file)).exit_code == 2
    file.write_text(PROGRAM.format(uid="count", width=32))
    wrong = headrace(group, "diff", saved, str(file))
    assert wrong.exit_code == 2
    assert "max parallelism 32 instead of 64" in wrong.stdout


TYPED = """
from headrace.common import Types
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.state import ValueStateDescriptor

class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", {type}))

    def process_element(self, value, ctx):
        yield value

env = StreamExecutionEnvironment.get_execution_environment()
env.set_max_parallelism(64)
words = env.from_collection(["a"], Types.STRING()).uid("src")
words.key_by(lambda word: word, key_type=Types.STRING()).process(Count()).uid("count").print()
env.execute("job")
"""


@pytest.mark.parametrize(
    ("type_text", "fate", "note"),
    [
        ("Types.LONG()", "kept", "3 entries"),
        ("Types.DOUBLE()", "converted", "user/total from value of LONG to value of DOUBLE"),
        ("Types.BOOLEAN()", "wrong", "BOOLEAN"),
    ],
)
def test_diff_knows_the_types_of_states_when_it_may_open_functions(
    saved: str, tmp_path: Path, type_text: str, fate: str, note: str
) -> None:
    file = tmp_path / "job.py"
    file.write_text(TYPED.format(type=type_text))
    closed = json.loads(headrace("savepoint", "diff", "--json", saved, str(file)).stdout)
    assert closed["operators"][0]["fate"] == "kept"
    answer = headrace("savepoint", "diff", "--open-functions", "--json", saved, str(file))
    assert answer.exit_code == (2 if fate == "wrong" else 0), answer.output
    found = json.loads(answer.stdout)["operators"][0]
    assert found["fate"] == fate
    assert note in found["note"]


def test_diff_says_that_it_did_not_look_into_operators(saved: str, tmp_path: Path) -> None:
    file = tmp_path / "job.py"
    file.write_text(TYPED.format(type="Types.LONG()").replace('"total"', '"another"'))
    closed = headrace("savepoint", "diff", saved, str(file))
    assert "not compared: the states inside kept operators" in closed.stderr
    assert "--open-functions shows new ones and those of another type" in closed.stderr
    opened = headrace("savepoint", "diff", "--open-functions", saved, str(file))
    assert "not looked at" not in opened.stderr
    assert "user/another" in opened.stdout
    for words, compared in ((), False), (("--open-functions",), True):
        answer = headrace("savepoint", "diff", *words, "--json", saved, str(file))
        assert json.loads(answer.stdout)["states_compared"] is compared


def test_run_refuses_a_wrong_savepoint_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", {**os.environ, "HEADRACE_HOME": str(tmp_path / "home")})
    monkeypatch.setattr(spark_host, "base_session", lambda *_: pytest.fail("Spark was started"))
    file = tmp_path / "job.py"
    file.write_text(PROGRAM.format(uid="count", width=64))
    answer = headrace("run", "-s", str(tmp_path / "none"), str(file))
    assert answer.exit_code == 2, answer.output
    assert "there is no savepoint here" in answer.stderr
