"""Settings that nobody may read reach Spark by a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from headrace.errors import ConfigurationError
from headrace.hosts.spark.protection import _escaped, protection, secrets_in_a_file
from headrace.spi.job_spec import JobSpec


def test_secrets_are_in_a_file_of_this_user_while_spark_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--verbose pyspark-shell")
    settings = {"spark.authenticate.secret": "a b", "spark.master.rest": "x"}
    with secrets_in_a_file(settings) as shown:
        assert shown == {"spark.master.rest": "x"}
        arguments = os.environ["PYSPARK_SUBMIT_ARGS"].split()
        file = Path(arguments[arguments.index("--properties-file") + 1])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_text() == "spark.authenticate.secret=a\\u0020b\n"
        assert arguments[-2:] == ["--verbose", "pyspark-shell"]
    assert not file.exists()
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == "--verbose pyspark-shell"


def test_without_secrets_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)
    with secrets_in_a_file({"spark.ui.enabled": "false"}) as shown:
        assert shown == {"spark.ui.enabled": "false"}
        assert "PYSPARK_SUBMIT_ARGS" not in os.environ


@pytest.mark.parametrize(
    ("text", "written"),
    [("a=b:c", "a\\u003db\\u003ac"), ("\\", "\\u005c"), ("é\n", "\\u00e9\\u000a"),
     ("😀", "\\ud83d\\ude00"), ("A-z.0/", "A-z.0/")],
)  # fmt: skip
def test_properties_are_escaped(text: str, written: str) -> None:
    assert _escaped(text) == written


def test_the_option_is_off_unless_it_is_set() -> None:
    assert protection(JobSpec("j", 1), "local[2]") == {}


def test_a_standalone_cluster_needs_a_secret_that_its_workers_know() -> None:
    options = {"security.ssl.internal.enabled": "true"}
    assert protection(JobSpec("j", 1, options=options), "local[2]")["spark.authenticate"] == "true"
    with pytest.raises(ConfigurationError, match="must know the same secret"):
        protection(JobSpec("j", 1, options=options), "spark://h:7077")
    own = {"spark.authenticate.secret": "x"}
    assert protection(JobSpec("j", 1, spark_settings=own, options=options), "spark://h:7077")
