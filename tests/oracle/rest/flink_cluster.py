"""A Flink cluster of PyFlink's own distribution on loopback, with one small job.

In: .venv-oracle.  Out: a `FlinkCluster` with its REST address and the id of a running job.
Next: record.py
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import urllib.request
import zipfile
from typing import TYPE_CHECKING, Any

from oracle import setup_venv
from patience import wait_until
from ports import free_port

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_CONFIG = """\
jobmanager.rpc.address: localhost
jobmanager.rpc.port: {rpc}
jobmanager.bind-host: localhost
jobmanager.memory.process.size: 900m
taskmanager.bind-host: localhost
taskmanager.host: localhost
taskmanager.memory.process.size: 1200m
taskmanager.numberOfTaskSlots: 4
rest.address: localhost
rest.bind-address: localhost
rest.port: {rest}
rest.profiling.enabled: false
io.tmp.dirs: {scratch}
web.tmpdir: {scratch}
execution.checkpointing.dir: file://{scratch}/checkpoints
execution.checkpointing.savepoint-dir: file://{scratch}/savepoints
"""

# Runs in .venv-oracle: no Python functions, so the workers need no interpreter.
_JOB = """\
import sys
from pyflink.common import Configuration
from pyflink.table import EnvironmentSettings, TableEnvironment
settings = Configuration()
for key, value in {
    "execution.target": "remote", "rest.address": "localhost", "rest.port": sys.argv[1],
    "parallelism.default": "2", "execution.checkpointing.interval": "500 ms",
    "pipeline.name": "recorded", "execution.attached": "false",
}.items():
    settings.set_string(key, value)
tables = TableEnvironment.create(
    EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(settings).build())
tables.execute_sql("CREATE TABLE s (k INT, t AS PROCTIME()) WITH ('connector'='datagen', "
    "'rows-per-second'='200', 'fields.k.min'='1', 'fields.k.max'='5')")
tables.execute_sql("CREATE TABLE o (k INT, n BIGINT) WITH ('connector'='blackhole')")
print(tables.execute_sql(
    f"INSERT INTO o SELECT k, COUNT(*) FROM s WHERE {sys.argv[2]} GROUP BY k"
    ).get_job_client().get_job_id())
"""


def distribution() -> Path:
    """Where PyFlink keeps Flink."""
    return next((setup_venv.VENV / "lib").glob("python3*/site-packages/pyflink"))


def _java_options() -> str:
    """The line of Flink's own configuration that Java 17 needs."""
    standard = (distribution() / "conf" / "config.yaml").read_text()
    options = next(line for line in standard.splitlines() if line.startswith("      all:"))
    return "env.java.opts.all: " + options.split("all:", 1)[1].strip()


class FlinkCluster:
    """A JobManager and a TaskManager; ends both processes when it is left."""

    def __init__(self, scratch: Path) -> None:
        self.scratch = scratch
        self.port = free_port()
        self.job_id = ""
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"http://localhost:{self.port}"

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "FLINK_HOME": str(distribution()),
            "FLINK_CONF_DIR": str(self.scratch / "conf"),
            "FLINK_LOG_DIR": str(self.scratch / "log"),
            "FLINK_PID_DIR": str(self.scratch),
        }

    def __enter__(self) -> FlinkCluster:
        (self.scratch / "log").mkdir()
        shutil.copytree(distribution() / "conf", self.scratch / "conf")
        settings = _CONFIG.format(rpc=free_port(), rest=self.port, scratch=self.scratch)
        (self.scratch / "conf/config.yaml").write_text(f"{settings}{_java_options()}\n")
        try:
            for script in ("jobmanager.sh", "taskmanager.sh"):
                self._start(script)
            self.wait_for("/taskmanagers", lambda answer: bool(answer["taskmanagers"]))
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self, script: str) -> None:
        log = (self.scratch / "log" / f"{script}.out").open("wb")
        command = ["bash", str(distribution() / "bin" / script), "start-foreground"]
        self._processes.append(
            subprocess.Popen(command, env=self.environment(), stdout=log, stderr=log)
        )

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.terminate()  # the script has become the JVM by exec
        for process in self._processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def run_job(self) -> str:
        """Start the job and wait until it has checkpoints."""
        self.job_id = self._submit("TRUE")
        self.wait_for(
            f"/jobs/{self.job_id}/checkpoints", lambda found: found["counts"]["completed"] >= 2
        )
        return self.job_id

    def run_failing_job(self) -> str:
        """Start a job whose tasks fail, and wait until one has."""
        job = self._submit("1 / (k - k) > 0")
        self.wait_for(
            f"/jobs/{job}/exceptions", lambda found: bool(found["exceptionHistory"]["entries"])
        )
        return job

    def _submit(self, condition: str) -> str:
        program = self.scratch / "job.py"
        program.write_text(_JOB)
        done = subprocess.run(
            [str(setup_venv.PYTHON), str(program), str(self.port), condition],
            env=self.environment(), capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
        return done.stdout.split()[-1]

    def upload_jar(self) -> Any:
        """Upload a jar without a program; what Flink answers."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nMain-Class: no.Such\n")
        border = "-" * 20
        body = (
            f'--{border}\r\nContent-Disposition: form-data; name="jarfile"; '
            'filename="empty.jar"\r\nContent-Type: application/java-archive\r\n\r\n'
        ).encode() + content.getvalue() + f"\r\n--{border}--\r\n".encode()  # fmt: skip
        request = urllib.request.Request(
            f"{self.address}/jars/upload",
            data=body,
            headers={"Content-Type": f"multipart/form-data; boundary={border}"},
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def wait_for(self, path: str, ready: Callable[[Any], bool]) -> None:
        """Until an answer is as wanted."""

        def is_so() -> bool:
            try:
                return ready(self.get(path))
            except OSError:
                return False

        wait_until(is_so, f"Flink did not become ready: {path}", every_s=0.3)

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(self.address + path, timeout=10) as answer:
            return json.load(answer)


def run_flink(
    folder: Path, port: int, command: str, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `flink COMMAND ARGUMENTS` of PyFlink's distribution against a server of this machine."""
    conf = folder / "conf"
    if not conf.exists():
        conf.mkdir()
        (conf / "config.yaml").write_text(f"{_java_options()}\nclient.timeout: 60 s\n")
        (conf / "log4j-cli.properties").write_text("rootLogger.level = OFF\n")
    return subprocess.run(
        [str(distribution() / "bin" / "flink"), command, "-m", f"127.0.0.1:{port}", *arguments],
        env={**os.environ, "FLINK_HOME": str(distribution()), "FLINK_CONF_DIR": str(conf),
             "FLINK_LOG_DIR": str(folder), **environment},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
