"""Lets this process import the files that a program names for its workers.

In: the option ``python.files``.  Out: entries of sys.path, which workers of this machine take over
(data/pickling.py); those of a cluster get the files themselves.
Next: table/catalogs/lookup.py imports functions by their names
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from headrace.errors import ConfigurationError

# of packages that Python imports as they are
_ZIPS = (".zip", ".egg", ".whl")


def listed_files(value: str | None) -> list[str]:
    """The paths and URLs that an option lists, separated by commas."""
    paths = [part.strip().removeprefix("file://") for part in (value or "").split(",")]
    return [path for path in paths if path]


def make_importable(python_files: str | None) -> None:
    """Has modules, package folders and zips found by this process; URLs are the workers' alone.

    Raises:
        ConfigurationError: a file is not there.
    """
    for file in listed_files(python_files):
        if "://" not in file:
            search(_place_of(checked_file(file)))


def checked_file(file: str) -> Path:
    """A file or folder of ``python.files`` that is on this machine.

    Raises:
        ConfigurationError: it is not there.
    """
    path = Path(file)
    if not path.exists():
        raise ConfigurationError(
            f"there is no file {file!r}",
            where="python.files",
            fix="name a module (.py), a package's folder or a zip, by its absolute path, or by "
            "one from the working directory",
        )
    return path.absolute()


def search(folder: Path) -> None:
    """Lets modules of a folder, or of a zip, be imported; what was found before stays first."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
        importlib.invalidate_caches()


def _place_of(path: Path) -> Path:
    return path if path.is_dir() or path.suffix in _ZIPS else path.parent
