"""What a start of Spark that fails comes to: one error that names the setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from headrace.errors import EnvironmentSetupError
from headrace.hosts.spark.quiet import Kept
from headrace.hosts.spark.start_failures import check_files, start_failure

if TYPE_CHECKING:
    from pathlib import Path

_CALL = "An error occurred while calling None.org.apache.spark.api.java.JavaSparkContext.\n: "
_FRAMES = "\tat org.apache.spark.SparkContext.<init>(SparkContext.scala:603)\n"


@pytest.mark.parametrize(
    ("master", "text", "said", "told"),
    [
        (
            "sparks//nowhere",
            "org.apache.spark.SparkException: Could not parse Master URL: 'sparks//nowhere'\n",
            "ERROR SparkContext: Error initializing SparkContext.\n",
            "Spark does not know what the master 'sparks//nowhere' is",
        ),
        (
            "local[2]",
            "Error while sending or receiving",
            "java.net.BindException: Failed to bind to /127.0.0.1:4040: Service 'SparkUI' failed "
            "after 0 retries (starting from 4040)! Consider explicitly ...\n",
            "Spark's service SparkUI cannot have port 4040: it is in use, or not of this machine's "
            "address",
        ),
        (
            "spark://away:7077",
            "java.lang.IllegalArgumentException: requirement failed: Can only call ...\n",
            "WARN StandaloneAppClient: Failed to connect to master away:7077\n"
            "Caused by: java.io.IOException: Failed to connect to away:7077\n"
            "Caused by: java.net.UnknownHostException: away\n",
            "Spark's master spark://away:7077 does not answer: away",
        ),
        (
            "local[2]",
            "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.",
            "Invalid maximum heap size: -Xmxlots\nError: Could not create the Java Virtual ...\n",
            "Spark could not be started: Invalid maximum heap size: -Xmxlots",
        ),
        (
            "local[2]",
            "org.apache.spark.SparkException: something that nobody has seen yet\n",
            "",
            "Spark could not be started: something that nobody has seen yet",
        ),
    ],
)
def test_one_error_tells_what_where_and_how_to_mend_it(
    master: str, text: str, said: str, told: str
) -> None:
    error = start_failure(
        RuntimeError(_CALL + text + _FRAMES), master, said.splitlines(keepends=True)
    )
    assert error.message == told
    assert error.where == f"spark.master {master}"
    assert error.fix
    assert "\tat " not in str(error)


def test_files_that_are_not_there_are_refused_before_spark_starts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    there = tmp_path / "there.jar"
    there.touch()
    check_files(
        {
            "spark.files": f"{there}, file://{there},{tmp_path}/*.jar,hdfs://away/x.jar",
            "spark.archives": "",
        }
    )
    with pytest.raises(EnvironmentSetupError, match="missing, and there is no such file"):
        check_files({"spark.files": f"{there},{tmp_path}/missing"})
    assert caplog.messages == []
    # those of Flink's connectors, which programs from Flink name: headrace needs none of them
    check_files({"spark.jars": f"{there},{tmp_path}/flink.jar"})
    [told] = caplog.messages
    assert "flink.jar, and there is no such file" in told


def test_what_the_jvm_says_while_it_starts_is_kept_until_somebody_takes_it() -> None:
    kept = Kept()
    assert not kept.keep(b"before\n")
    kept.begin()
    assert kept.keep(b"one\n")
    assert kept.keep(b"two\n")
    assert kept.taken() == ["one\n", "two\n"]
    assert not kept.keep(b"behind\n")
    assert kept.taken() == []
