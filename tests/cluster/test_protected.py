"""Spark's own authentication and encryption, switched on by one option, on a real cluster."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from patience import PATIENCE_S
from standalone import Cluster

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.cluster

SECRET = "correct horse = battery # staple"
PROGRAM = textwrap.dedent(
    """
    import glob, os, sys
    from headrace.common import Configuration, Types
    from headrace.datastream import StreamExecutionEnvironment

    master, secret = sys.argv[1], os.environ.get("THE_SECRET")
    configuration = Configuration()
    settings = {
        "spark.master": master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executor.memory": "512m",
        "spark.cores.max": "2",
        "security.ssl.internal.enabled": "true",
    }
    if secret:
        settings["spark.authenticate.secret"] = secret
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    pairs = [(f"k{n % 5}", n) for n in range(100)]
    kind = Types.TUPLE([Types.STRING(), Types.INT()])
    keyed = env.from_collection(pairs, kind).key_by(lambda pair: pair[0], Types.STRING())
    found = keyed.reduce(lambda a, b: (a[0], a[1] + b[1])).execute_and_collect()
    totals = {}
    for key, total in found:
        totals[key] = max(total, totals.get(key, 0))
    print("totals", sorted(totals.items()))

    from pyspark.sql import SparkSession
    conf = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    conf = conf.sparkContext.getConf()
    for name in ("authenticate", "network.crypto.enabled", "io.encryption.enabled"):
        key = f"spark.{name}"
        print(key, conf.get(key))
    shown = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            shown.append(open(path, "rb").read())
        except OSError:
            pass
    print("listed", sum(b"battery" in line for line in shown), "of", len(shown) > 3)
    """
)


def _run(folder: Path, master: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    return subprocess.run(
        [sys.executable, str(program), master], cwd=folder, text=True, capture_output=True,
        env={**os.environ, **environment}, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


EXPECTED = [(f"k{n}", sum(range(n, 100, 5))) for n in range(5)]


def test_a_job_on_a_cluster_that_asks_for_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    escaped = SECRET.replace(" ", "\\u0020").replace("=", "\\u003d").replace("#", "\\u0023")
    (conf / "spark-defaults.conf").write_text(
        f"spark.authenticate=true\nspark.authenticate.secret={escaped}\n"
        "spark.network.crypto.enabled=true\nspark.network.crypto.authEngineVersion=2\n"
        "spark.network.crypto.cipher=AES/GCM/NoPadding\n"
    )
    with monkeypatch.context() as patched:
        patched.setenv("SPARK_CONF_DIR", str(conf))
        cluster = Cluster(tmp_path, workers=2).__enter__()
    try:
        done = _run(tmp_path, cluster.url, THE_SECRET=SECRET)
        assert f"totals {EXPECTED}" in done.stdout, done.stdout + done.stderr
        assert "spark.authenticate true" in done.stdout
        assert "spark.io.encryption.enabled true" in done.stdout
        assert "listed 0 of True" in done.stdout  # the secret is on no command line

        refused = _run(tmp_path, cluster.url)
        assert refused.returncode != 0
        assert "the workers of" in refused.stderr
        assert "spark.authenticate.secret" in refused.stderr
    finally:
        cluster.close()


@pytest.mark.slow
def test_a_local_job_is_protected_by_the_option_alone(tmp_path: Path) -> None:
    done = _run(tmp_path, "local[2]")
    assert f"totals {EXPECTED}" in done.stdout, done.stdout + done.stderr
    assert "spark.network.crypto.enabled true" in done.stdout
