"""Names of PyFlink's that are missing can be imported, and say what to use instead when used.

tests/structure/test_missing_names.py asks every single one.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Optional

import pytest

import headrace.datastream
from headrace.errors import HeadraceError, UnsupportedStepError


def test_every_way_to_use_one_says_what_is_missing_and_what_to_use() -> None:
    from headrace.datastream.connectors.pulsar import PulsarSource  # type: ignore[import-not-found]

    def derive() -> None:
        class Mine(PulsarSource):  # type: ignore[misc]
            pass

    for use in (PulsarSource, lambda: PulsarSource.builder(), derive):
        with pytest.raises(UnsupportedStepError) as caught:
            use()
        assert str(caught.value.where).startswith("test_missing.py")
    assert str(caught.value).splitlines()[0] == (
        "[UNSUPPORTED_STEP] headrace has no PulsarSource (PyFlink's "
        "pyflink.datastream.connectors.pulsar): message queues come in a later version"
    )
    assert caught.value.fix == "until then read one with Spark and `env.from_dataframe`"


def test_it_may_be_named_in_hints_and_asked_for_types() -> None:
    from headrace.table.catalog import HiveCatalog
    from headrace.table.module import HiveModule  # noqa: TC001

    def hinted(plan: HiveCatalog | None, at: Optional[HiveModule] = None) -> HiveCatalog:  # noqa: UP045
        return plan

    assert hinted(None) is None
    assert not isinstance(3, HiveCatalog)
    assert not hasattr(HiveCatalog, "__wrapped__")


def test_submodules_of_a_missing_package_are_missing_too() -> None:
    from headrace.serializers.anything import PickleSerializer  # type: ignore[import-not-found]

    with pytest.raises(HeadraceError, match="headrace has no PickleSerializer"):
        PickleSerializer()


@pytest.mark.parametrize(
    "line",
    [
        "import headrace.tables",
        "import headrace.datastream.connectors.kafkaa",
        "from headrace.datastream import NoSuchName",
        "from headrace.datastream.formats.csv import NoSuchName",
    ],
)
def test_what_pyflink_does_not_have_either_is_an_import_error(line: str) -> None:
    with pytest.raises(ImportError):
        exec(line)


def test_a_module_of_ours_is_never_hidden() -> None:
    assert headrace.datastream.StreamExecutionEnvironment.__module__.startswith("headrace.")
    assert sys.meta_path[-1].__name__ == "_Finder"  # type: ignore[attr-defined]


PROGRAM = """
import sys
from headrace.table.catalog import HiveCatalog
from headrace.datastream import AsyncDataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.pulsar import PulsarSource
from headrace.datastream.formats.avro import AvroRowSerializationSchema

if "--pulsar" in sys.argv:
    PulsarSource.builder().set_service_url("pulsar://localhost:6650")
print("the other branch")
"""


def test_a_program_whose_missing_part_is_in_a_branch_not_taken_runs() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "the other branch\n")
    command = [sys.executable, "-c", PROGRAM, "--pulsar"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert "until then read one with Spark" in run.stderr
