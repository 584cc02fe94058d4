"""Settings that nobody may read reach Spark by a file."""

from __future__ import annotations

import os
import shlex
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


def properties_while(settings: dict[str, str]) -> tuple[str, list[str], dict[str, str]]:
    """The content of the file, the other arguments, and what is shown while Spark starts."""
    with secrets_in_a_file(settings) as shown:
        words = shlex.split(os.environ["PYSPARK_SUBMIT_ARGS"])
        assert words.count("--properties-file") == 1
        at = words.index("--properties-file")
        file = Path(words[at + 1])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        content = file.read_text(encoding="utf-8")
    assert not file.exists()
    return content, words[:at] + words[at + 2 :], shown


@pytest.mark.parametrize("form", ["--properties-file {}", "--properties-file={}",
                                  "--properties-file no.conf --properties-file {}"])  # fmt: skip
def test_a_properties_file_of_the_user_is_taken_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, form: str
) -> None:
    own = tmp_path / "my own.conf"
    own.write_text("spark.ui.enabled false\n# größer\nspark.x.password=old\n", encoding="utf-8")
    arguments = f"{form.format(shlex.quote(str(own)))} --name 'a b' pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    content, others, shown = properties_while({"spark.x.password": "new", "spark.y": "1"})
    # of two lines Java takes the last; without our flag Spark reads no defaults, as before
    assert content == own.read_text(encoding="utf-8") + "\n\nspark.x.password=new\n"
    assert others == ["--name", "a b", "pyspark-shell"]
    assert shown == {"spark.y": "1"}
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == arguments


def test_a_last_line_that_goes_on_does_not_swallow_the_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "own.conf"
    own.write_text("spark.jars a,\\")
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {own} pyspark-shell")
    content, _, _ = properties_while({"spark.x.token": "t"})
    assert content == "spark.jars a,\\\n\nspark.x.token=t\n"


def test_secrets_of_the_users_arguments_go_into_the_file_and_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = "--conf spark.x.token=a=b -c spark.y=1 --conf=spark.z.password=c pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    content, others, shown = properties_while({"spark.x.token": "ours", "spark.q": "2"})
    assert content == "spark.x.token=a\\u003db\nspark.z.password=c\n"
    assert others == ["--load-spark-defaults", "-c", "spark.y=1", "pyspark-shell"]
    assert shown == {"spark.q": "2"}


def test_a_properties_file_that_cannot_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    arguments = f"--properties-file {tmp_path / 'none.conf'} pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    with (
        pytest.raises(ConfigurationError, match=r"none\.conf cannot be read: No such file") as told,
        secrets_in_a_file({"spark.x.token": "t"}),
    ):
        pass
    assert told.value.where == "--properties-file in PYSPARK_SUBMIT_ARGS"
    assert os.environ["PYSPARK_SUBMIT_ARGS"] == arguments


def test_a_properties_file_stays_where_it_is_without_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = "--properties-file none.conf pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    with secrets_in_a_file({"spark.ui.enabled": "false"}) as shown:
        assert shown == {"spark.ui.enabled": "false"}
        assert os.environ["PYSPARK_SUBMIT_ARGS"] == arguments


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
