"""What every test shares: loopback only, this interpreter in workers, marks by folder.

Next: tests/spark/conftest.py for the Spark session, services.py for PostgreSQL and Redis,
kafka_broker.py and secured_kafka.py for Kafka, search_servers.py for OpenSearch and Elasticsearch.
"""

from __future__ import annotations

import atexit
import os
import random
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from kafka_broker import kafka  # noqa: F401 - a fixture for all tests
from patience import PATIENCE_S, TEST_TIMEOUT_S
from registry_server import schema_registry  # noqa: F401
from search_servers import elasticsearch, opensearch  # noqa: F401
from secured_kafka import secured_kafka  # noqa: F401
from services import postgres, redis_server, services_folder  # noqa: F401
from skips import IS_CI, pytest_sessionfinish, pytest_terminal_summary  # noqa: F401 - hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.control.job import Job

ROOT = Path(__file__).resolve().parent.parent

# A change must not fail by what was there before it and no dice had hit: all runs of CI have the
# same inputs.  Developers draw new ones, and so does whoever sets this to "drawn".
SEEDS_ARE_DRAWN = os.environ.get("HEADRACE_TEST_SEEDS", "fixed" if IS_CI else "drawn") == "drawn"

# Both must be set before the first JVM starts, so not in a fixture.
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = sys.executable
# Jobs of tests register here, and not among those of the developer; their processes as well.
_HOME = tempfile.mkdtemp(prefix="headrace-test-home-")
os.environ["HEADRACE_HOME"] = _HOME
atexit.register(shutil.rmtree, _HOME, ignore_errors=True)

# Shells let jobs in the background ignore SIGINT, and so would all that tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# One for all processes of a run: each of them must collect the same tests.
os.environ.setdefault(
    "HEADRACE_ORACLE_SEED", str(random.SystemRandom().randrange(10**6) if SEEDS_ARE_DRAWN else 1)
)
# pytest-timeout reads it before pyproject.toml, so that one file says how long anything may take.
os.environ.setdefault("PYTEST_TIMEOUT", str(TEST_TIMEOUT_S))

# Shared machines are slow at times: neither a slow example nor slow making of one is a failure.
settings.register_profile(
    "headrace",
    deadline=None,
    derandomize=not SEEDS_ARE_DRAWN,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("headrace")


def pytest_report_header() -> str:
    """Says what chose the inputs of this run."""
    drawn = f"HEADRACE_ORACLE_SEED={os.environ['HEADRACE_ORACLE_SEED']}"
    return f"seeds: {'drawn' if SEEDS_ARE_DRAWN else 'fixed'}, {drawn}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests of tests/spark and tests/oracle, so that nobody has to remember it."""
    for item in items:
        folder = item.path.relative_to(ROOT / "tests").parts[0]
        if folder in ("spark", "oracle"):
            item.add_marker(folder)


@pytest.fixture(autouse=True)
def _no_job_outlives_its_test() -> Iterator[None]:
    """Ends what a test has started and left: its threads would log into what pytest has closed."""
    before = _running_jobs()
    yield
    for job in _running_jobs() - before:
        job.cancel()
        assert job.wait(PATIENCE_S), f"job {job.name} cannot be ended"


def _running_jobs() -> set[Job]:
    """The jobs of this process; none if nobody has had a reason to import them."""
    module = sys.modules.get("headrace.control.job")
    return set() if module is None else set(module.running_jobs())


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT
