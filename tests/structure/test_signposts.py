"""Every module has a signpost that leads somewhere, and every folder is a package.

Which package may import which is in .importlinter; what imports load is in unit/test_imports.py.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from source_files import PACKAGE, ROOT, place, source_files, tell

if TYPE_CHECKING:
    from source_files import SourceFile

# A file that a signpost leads to: `Next: runtime/chain.py`, or a neighbour.
FILE_NAME = re.compile(r"(?<![\w/.*<-])((?:[a-z_]+/)*[a-z_]+\.(?:py|md))\b")
# files of users, in examples
OF_USERS = {"pipeline.py", "nt.py", "program.py", "script.py", "job.py"}


def test_every_module_has_a_signpost() -> None:
    tell(
        f"{file.at(1)} has no signpost (say in a docstring what comes in, what goes out, what is"
        " next)"
        for file in source_files()
        if not ast.get_docstring(file.tree)
    )


def test_every_folder_is_a_package() -> None:
    folders = {file.path.parent for file in source_files()}
    missing = [folder for folder in sorted(folders) if not (folder / "__init__.py").exists()]
    tell(
        f"{place(each / '__init__.py', 1)} is missing (add it, with a signpost)" for each in missing
    )


def test_signposts_lead_to_files_that_exist() -> None:
    tell(
        f"{file.at(1)} leads to {name}, which is not there (name the file of today)"
        for file in source_files()
        for name in broken_names(file)
    )


def broken_names(file: SourceFile) -> list[str]:
    docstring = ast.get_docstring(file.tree) or ""
    folder = file.path.parent
    places = (folder, PACKAGE, ROOT, folder.parent)
    return [
        name
        for name in FILE_NAME.findall(docstring)
        if name not in OF_USERS and not any((each / name).exists() for each in places)
    ]
