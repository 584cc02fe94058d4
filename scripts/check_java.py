"""Says clearly whether this machine has a Java that Spark 4.3 runs on (17 or 21).

Run by the Makefile before anything is installed, so it uses the standard library alone and stays
runnable on Python 3.7 and later.  Spark looks at JAVA_HOME first and at PATH second; so does this.
Exit code 0: usable.  Exit code 1: a message says what was found and how to get the right one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SUPPORTED = (17, 21)

HOW_TO_GET_IT = """\
  fix: install Java 17 or 21 (a JRE is enough), for example
    Debian, Ubuntu   sudo apt install openjdk-17-jre-headless
                     (newer releases: openjdk-21-jre-headless)
    Fedora           sudo dnf install java-21-openjdk-headless
    macOS            brew install --cask temurin@17
                     export JAVA_HOME="$(/usr/libexec/java_home -v 17)"
    Windows          use WSL 2 with Ubuntu, then as above
    conda            conda install -c conda-forge openjdk=17
  or point JAVA_HOME at one you have: export JAVA_HOME=/path/to/jdk-17"""


def find_java(environ: Mapping[str, str]) -> tuple[str | None, str]:
    """Returns (path or None, where it was looked up)."""
    home = environ.get("JAVA_HOME")
    if home:
        return str(Path(home, "bin", "java")), f"JAVA_HOME={home}"
    return shutil.which("java", path=environ.get("PATH", "")), "PATH"


def major_version(text: str) -> int | None:
    """Returns the major version in the output of `java -version`, or None.

    >>> major_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> major_version('java version "1.8.0_392"')
    8
    """
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


def problem_with_java(environ: Mapping[str, str]) -> str | None:
    """Returns None when Spark can use the machine's Java, or a sentence that says why not."""
    java, origin = find_java(environ)
    if java is None:
        return "no `java` was found: JAVA_HOME is not set and PATH has none"
    found = f"{java} (from {origin})"
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, env=dict(environ)
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{found} could not be run: {error}"
    printed = (answer.stderr + answer.stdout).strip() or "(nothing)"
    version = major_version(printed)
    first_line = printed.splitlines()[0]
    if answer.returncode != 0 or version is None:
        return f"{found} did not tell its version; it printed: {first_line}"
    if version not in SUPPORTED:
        return f"Java {version}: {found} printed: {first_line}"
    return None


def main() -> int:
    problem = problem_with_java(os.environ)
    if problem is None:
        return 0
    print("headrace needs Java 17 or 21 to run Spark.", file=sys.stderr)
    print("  found: " + problem, file=sys.stderr)
    print(HOW_TO_GET_IT, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
