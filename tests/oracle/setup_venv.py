"""Creates .venv-oracle, the virtualenv with the real PyFlink.

In: requirements.txt and constraints.txt, beside this file.  Out: .venv-oracle in the checkout.
Next: session.py

    python tests/oracle/setup_venv.py        # does nothing when the venv is already up to date
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Several checkouts may share one.
VENV = Path(os.environ.get("HEADRACE_ORACLE_VENV", HERE.parent.parent / ".venv-oracle"))
PYTHON = VENV / "bin" / "python"
REQUIREMENTS = HERE / "requirements.txt"
CONSTRAINTS = HERE / "constraints.txt"
STAMP = VENV / ".requirements-sha256"

# The Pythons PyFlink 2.3 supports, preferred first; programs are written for 3.10 and later.
SUPPORTED = ("3.11", "3.12", "3.10")


def base_python() -> str | None:
    """The interpreter to build the venv with: this one if PyFlink supports it, else one on PATH."""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" in SUPPORTED:
        return sys.executable
    found = (shutil.which(f"python{version}") for version in SUPPORTED)
    return next((path for path in found if path is not None), None)


def wanted_stamp() -> str:
    """Hash of what the venv should hold."""
    digest = hashlib.sha256()
    for path in (REQUIREMENTS, CONSTRAINTS):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_ready() -> bool:
    """Whether .venv-oracle exists and was built from the present requirement files."""
    return PYTHON.exists() and STAMP.exists() and STAMP.read_text() == wanted_stamp()


def build(python: str) -> None:
    """Creates the venv from nothing; a half-built one is thrown away first."""
    if VENV.exists():
        shutil.rmtree(VENV)
    subprocess.run([python, "-m", "venv", str(VENV)], check=True)
    install = [str(PYTHON), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS)]
    subprocess.run([*install, "-c", str(CONSTRAINTS)], check=True)
    probe = "import pyflink.version as v; print('PyFlink', v.__version__, 'is ready')"
    # PyFlink reads FLINK_HOME when set: another Flink on the machine must not be picked up.
    env = {name: value for name, value in os.environ.items() if name != "FLINK_HOME"}
    subprocess.run([str(PYTHON), "-c", probe], check=True, env=env)
    STAMP.write_text(wanted_stamp())


def main() -> int:
    """Builds the venv unless it is up to date; returns the exit code."""
    if is_ready():
        print(f"{VENV} is up to date")
        return 0
    python = base_python()
    if python is None:
        print(f"PyFlink 2.3 needs one of Python {', '.join(SUPPORTED)}; none of them is on PATH")
        return 1
    print(f"creating {VENV} (apache-flink is about 500 MB, this takes a few minutes)")
    build(python)
    return 0


if __name__ == "__main__":
    sys.exit(main())
