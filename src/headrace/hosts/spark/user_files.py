"""Files, archives and packages that a program sends to the workers.

In: the options ``python.files``, ``python.archives`` and ``python.requirements``.  Out: files that
Spark keeps on every machine, and workers that find them.  Next: hosts/spark/microbatch/worker.py
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import SparkFiles

from headrace.errors import ConfigurationError, EnvironmentSetupError
from headrace.io.importing import checked_file, listed_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark import SparkContext

    from headrace.common.opaque import OptionValue

# The setting of a job's session that tells its workers what to look for.
SHIPPED = "headrace.shipped"
_ARCHIVES, _PACKAGES = "archives", "packages-"
# requirements that were installed by this process: digest to archive
_installed: dict[str, str] = {}


def ship(context: SparkContext, option: Callable[[str], OptionValue]) -> dict[str, str]:
    """Send what the options name to the workers; settings of the job's session.

    Args:
        context: the running Spark.
        option: the value of an option by key.

    Raises:
        ConfigurationError: a file is not there, or Spark runs another interpreter.
        EnvironmentSetupError: pip could not install the requirements.
    """
    _check_interpreter(context, option("python.executable"))
    for file in listed_files(option("python.files")):
        context.addPyFile(file if "://" in file else _one_file(file))
    shipped = []
    for archive in listed_files(option("python.archives")):
        context.addArchive(_named(archive))
        shipped.append(_ARCHIVES)
    if option("python.requirements"):
        name, archive = _requirements(option("python.requirements"))
        context.addArchive(f"{archive}#{name}")
        shipped.append(name)
    return {SHIPPED: ",".join(dict.fromkeys(shipped))} if shipped else {}


def enter(shipped: str) -> None:
    """Let this worker find what came along: packages first on its path, archives where it works."""
    os.environ["python"] = sys.executable  # noqa: SIM112 - what PyFlink's workers have
    root = SparkFiles.getRootDirectory() if shipped else ""
    names = shipped.split(",")
    _work_in(root if _ARCHIVES in names else None)
    packages = [str(Path(root, name)) for name in names if name.startswith(_PACKAGES)]
    sys.path[:0] = [package for package in packages if package not in sys.path]


_left: list[str] = []  # where this worker was before it went to its archives


def _work_in(folder: str | None) -> None:
    if folder is not None:
        if not _left:
            _left.append(str(Path.cwd()))
        os.chdir(folder)
    elif _left:
        os.chdir(_left.pop())


def _one_file(file: str) -> str:
    """What Spark can send: of a folder with modules and packages, a zip."""
    path = checked_file(file)
    if not path.is_dir():
        return str(path)
    folder = tempfile.mkdtemp(prefix="headrace-python-files-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # Spark serves it to the end
    return shutil.make_archive(str(Path(folder, path.name)), "zip", str(path))


def _named(archive: str) -> str:
    """An archive with the name of the folder that it becomes."""
    path, _, folder = archive.partition("#")
    if "://" not in path and not Path(path).is_file():
        raise ConfigurationError(
            f"the archive {path} does not exist", fix="pass the path of a zip or tar.gz file"
        )
    return f"{path}#{folder or Path(path).name}"


def _check_interpreter(context: SparkContext, wanted: str | None) -> None:
    if wanted and shutil.which(wanted) != shutil.which(context.pythonExec):
        raise ConfigurationError(
            f"the workers should run {wanted}, but Spark is already running with "
            f"{context.pythonExec}",
            fix="call set_python_executable before the first job of this process, or set the "
            "variable PYSPARK_PYTHON",
        )


def _requirements(value: str) -> tuple[str, str]:
    """Install a requirements file here; the name of its folder on workers, and its archive."""
    path, _, cache = value.partition("#")
    if not Path(path).is_file():
        raise ConfigurationError(f"the requirements file {path} does not exist")
    digest = hashlib.sha256(f"{Path(path).read_text()}\0{cache}".encode()).hexdigest()[:16]
    if digest not in _installed:
        folder = Path(tempfile.mkdtemp(prefix="headrace-requirements-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)  # Spark serves it to the end
        _install(path, cache, folder / "packages")
        _installed[digest] = shutil.make_archive(
            str(folder / digest), "zip", str(folder / "packages")
        )
    return f"{_PACKAGES}{digest}", _installed[digest]


def _install(requirements: str, cache: str, target: Path) -> None:
    target.mkdir()
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--requirement", requirements, "--target", str(target)]
    if cache:
        command += ["--no-index", "--find-links", cache]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        errors = [line for line in found.stderr.splitlines() if line.startswith("ERROR")]
        raise EnvironmentSetupError(
            f"pip could not install {requirements}: {(errors or [found.stderr])[-1]:.300}",
            fix="correct the file, or pass a directory with the packages as requirements_cache_dir",
        )
