"""PostgreSQL and Redis for tests: real servers on loopback, a free port, a temporary directory.

Next: the fixtures `postgres` and `redis_server` at the end; tests/conftest.py hands them to all
tests. Missing servers are installed with apt-get where that is possible; else the test is skipped,
and fails in CI.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from patience import PATIENCE_S
from ports import free_port
from skips import give_up

if TYPE_CHECKING:
    from collections.abc import Iterator

PASSWORD = "s3cret pass"


def find_program(name: str, package: str) -> str:
    """The path of a server program; installs its package when it can."""
    found = _look_for(name)
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        # Processes of one run look for the same program, and apt-get refuses the second one.
        with (Path(tempfile.gettempdir()) / "headrace-tests-apt.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = _look_for(name) or _install(name, package)
    if found is None:
        reason = f"{name} is missing and could not be installed: apt-get install {package}"
        give_up(reason)
    return found


def _install(name: str, package: str) -> str | None:
    command = ["apt-get", "install", "-y", package]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(command, env=quiet, capture_output=True, check=False, timeout=600)
    return _look_for(name)


def _look_for(name: str) -> str | None:
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(debian[-1]) if debian else shutil.which(name)


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for loopback that is its own authority, and its key."""
    openssl = find_program("openssl", "openssl")
    made, key = folder / "cert.pem", folder / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    command += ["-addext", "keyUsage=critical,digitalSignature,keyCertSign"]
    subprocess.run(
        [*command, "-out", str(made), "-keyout", str(key)], check=True, capture_output=True
    )
    return made, key


@dataclass
class Server:
    """A server process that can be stopped, killed and started again on its port."""

    folder: Path
    port: int
    command: list[str]
    # PostgreSQL refuses to run as root.
    run_as: dict[str, Any] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = (self.folder / "log").open("ab")
        self.process = subprocess.Popen(
            self.command, stdout=log, stderr=log, cwd=self.folder, **self.run_as
        )
        log.close()
        deadline = time.monotonic() + PATIENCE_S
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"no server: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.05)

    def answers(self) -> bool:
        raise NotImplementedError

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> None:
        if self.process is not None:
            self.process.send_signal(sign)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(PATIENCE_S)
            self.process = None


class PostgresServer(Server):
    """Database and user are called headrace."""

    def stop(self, sign: signal.Signals = signal.SIGINT) -> None:
        """At once: SIGTERM would wait for its clients."""
        super().stop(sign)

    @property
    def url(self) -> str:
        password = PASSWORD.replace(" ", "%20")
        return f"postgresql://headrace:{password}@127.0.0.1:{self.port}/headrace"

    def answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True

    def query(self, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Runs a statement on a connection of its own; the rows, if it has any."""
        import psycopg

        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(sql, parameters or None)
            return [] if cursor.description is None else cursor.fetchall()

    def crash(self) -> None:
        """Ends at once, without a checkpoint: unlogged tables are empty afterwards."""
        self.stop(signal.SIGQUIT)


class RedisServer(Server):
    """Keeps an append-only file, so that it remembers after a restart."""

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{self.port}/0"

    def client(self) -> Any:
        import redis

        return redis.Redis.from_url(self.url, decode_responses=True)

    def answers(self) -> bool:
        import redis

        try:
            with closing(self.client()) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


def _unprivileged() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = known.get("postgres") or known["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def new_postgres(folder: Path) -> PostgresServer:
    initdb = find_program("initdb", "postgresql")
    program = find_program("postgres", "postgresql")
    run_as = _unprivileged()
    if run_as:
        os.chown(folder, run_as["user"], run_as["group"])
    (folder / "password").write_text(PASSWORD)
    (folder / "password").chmod(0o644)
    data = str(folder / "data")
    made = subprocess.run(
        [
            *(initdb, "-D", data, "-U", "headrace", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"),
            *("--auth=scram-sha-256", f"--pwfile={folder / 'password'}"),
        ],
        **run_as,
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr.decode()
    port = free_port()
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": str(folder),
        # Whoever runs these tests does not pull the plug; the process may die all the same.
        "fsync": "off",
        "max_connections": "40",
        "lc_messages": "C",
    }
    command = [program, "-D", data, "-p", str(port)]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    server = PostgresServer(folder, port, command, run_as)
    _create_database(server)
    return server


def _create_database(server: PostgresServer) -> None:
    single = [server.command[0], "--single", "-D", server.command[2], "template1"]
    subprocess.run(
        single,
        input=b"CREATE DATABASE headrace;\n",
        **server.run_as,
        cwd=server.folder,
        capture_output=True,
        check=True,
    )


def new_redis(folder: Path) -> RedisServer:
    program = find_program("redis-server", "redis-server")
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder)]
    command += ["--requirepass", PASSWORD, "--save", "", "--appendonly", "yes"]
    return RedisServer(folder, port, command)


def _running(server: Server) -> Iterator[Any]:
    try:
        server.start()
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def services_folder() -> Iterator[Path]:
    """Under /tmp itself: pytest's own directories are closed to the user PostgreSQL runs as."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-services-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(services_folder: Path) -> Iterator[PostgresServer]:
    """A PostgreSQL server for the whole run; tests use tables of their own."""
    folder = services_folder / "postgres"
    folder.mkdir()
    yield from _running(new_postgres(folder))


@pytest.fixture(scope="session")
def redis_server(services_folder: Path) -> Iterator[RedisServer]:
    """A Redis server for the whole run; tests use keys of their own."""
    folder = services_folder / "redis"
    folder.mkdir()
    yield from _running(new_redis(folder))
