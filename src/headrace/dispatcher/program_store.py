"""Programs that were uploaded to a dispatcher: scripts, and zips of packages.

    programs/<id>_<name>          what was uploaded
    programs/<id>_<name>.json     when, and with which entry

In: bytes and a name.  Out: StoredPrograms; unpacked for a driver.  Next: dispatcher/job_store.py
"""

from __future__ import annotations

import io
import json
import re
import shutil
import stat
import time
import uuid
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from headrace.control.registry import write_json
from headrace.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,127}\.(py|zip)")
# What of a zip is run if nothing else is named.
ZIP_ENTRY = "__main__.py"
# A small zip can hold a very large file.
_MOST_BYTES = 1 << 30
_MOST_FILES = 20_000


@dataclass(frozen=True, slots=True)
class StoredProgram:
    """An uploaded program.

    Attributes:
        id: as REST names it; no path.
        name: the file's name at its user.
        uploaded_ms: when, in epoch milliseconds.
        size_bytes: of the file.
    """

    id: str
    name: str
    uploaded_ms: int
    size_bytes: int


class ProgramStore:
    """The folder of uploaded programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, content: bytes) -> StoredProgram:
        """Keep a program.

        Args:
            name: ends in .py or .zip; what a path has before it is left out.
            content: of the file.

        Raises:
            InvalidArgumentError: it is no Python file and no zip of such.
        """
        name = PurePosixPath(name.replace("\\", "/")).name
        if not _NAME.fullmatch(name):
            raise InvalidArgumentError(
                f"a program cannot be named {name!r}",
                where="upload",
                fix="upload a script (.py), or a package as .zip, with a plain name",
            )
        check_program(name, content)
        self.folder.mkdir(parents=True, exist_ok=True)
        program = StoredProgram(
            f"{uuid.uuid4()}_{name}", name, round(time.time() * 1000), len(content)
        )
        draft = self.folder / f".{program.id}"
        draft.write_bytes(content)
        draft.replace(self.folder / program.id)
        write_json(self.folder / f"{program.id}.json", asdict(program))
        return program

    def all(self) -> list[StoredProgram]:
        """All programs, the newest first."""
        return sorted(self._read(), key=lambda program: program.uploaded_ms, reverse=True)

    def get(self, program_id: str) -> StoredProgram:
        """One program.

        Raises:
            InvalidArgumentError: there is none with this id.
        """
        for program in self._read():
            if program.id == program_id:
                return program
        raise InvalidArgumentError(
            f"there is no program {program_id!r}", where="uploads", fix="upload it first"
        )

    def entry(self, program: StoredProgram) -> str | None:
        """What runs if nothing else is named; None for a zip without such a script."""
        if not program.name.endswith(".zip"):
            return program.name
        try:
            with zipfile.ZipFile(self.folder / program.id) as archive:
                return ZIP_ENTRY if ZIP_ENTRY in archive.namelist() else None
        except (OSError, zipfile.BadZipFile):
            return None  # being deleted

    def path(self, program_id: str) -> Path:
        """Where the file of a program is."""
        return self.folder / self.get(program_id).id

    def delete(self, program_id: str) -> None:
        """Forget a program; jobs that were started with it have copies."""
        path = self.path(program_id)
        path.with_name(f"{path.name}.json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def _read(self) -> Iterator[StoredProgram]:
        for path in self.folder.glob("*.json"):
            try:
                yield StoredProgram(**json.loads(path.read_text()))
            except (OSError, ValueError, TypeError):
                continue  # being deleted, or not ours


def check_program(name: str, content: bytes) -> None:
    """Refuse what cannot be a program.

    Raises:
        InvalidArgumentError: the text is no Python, or the zip is none, or not one to be unpacked.
    """
    if name.endswith(".py"):
        try:
            compile(content, name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise InvalidArgumentError(
                f"{name} is not a Python script: {error}",
                where=f"{name}:{getattr(error, 'lineno', 1)}",
            ) from None
        return
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_members(name, archive)
    except zipfile.BadZipFile as error:
        raise InvalidArgumentError(f"{name} is not a zip: {error}", where=name) from None


def _check_members(name: str, archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    if sum(member.file_size for member in members) > _MOST_BYTES or len(members) > _MOST_FILES:
        raise InvalidArgumentError(
            f"{name} is too large when it is unpacked",
            where=name,
            fix=f"at most {_MOST_BYTES >> 20} MB and {_MOST_FILES:,} files; install libraries on "
            "the dispatcher's machine instead",
        )
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        link = stat.S_ISLNK(member.external_attr >> 16)
        if path.is_absolute() or ".." in path.parts or link:
            raise InvalidArgumentError(
                f"{name} holds {member.filename!r}, which leads out of its folder", where=name
            )


def unpack(program: Path, name: str, folder: Path) -> Path:
    """Put a program where a driver can run it.

    Returns:
        The script to run; for a zip the folder, with its modules.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if not name.endswith(".zip"):
        return Path(shutil.copyfile(program, folder / name))
    with zipfile.ZipFile(program) as archive:
        _check_members(name, archive)
        archive.extractall(folder)
    return folder
