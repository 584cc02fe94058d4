#!/bin/sh
# Prints the Python that `make setup` builds the virtual environment with: 3.11 or later, able to
# make a virtual environment.  PYTHON=/path/to/python overrides the search.
usable='import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'

if [ -n "${PYTHON:-}" ]; then
    candidates=$PYTHON
else
    candidates="python3.13 python3.12 python3.11 python3 python"
fi

# A candidate is run, not only looked up: pyenv puts shims on PATH for versions that are not active.
for candidate in $candidates; do
    if "$candidate" -c "$usable" >/dev/null 2>&1; then
        "$candidate" -c 'import sys; print(sys.executable)'
        exit 0
    fi
done

cat >&2 <<MESSAGE
headrace needs Python 3.11 or later with the venv module; none was found.
  looked for: $candidates
  fix:
    Debian, Ubuntu   sudo apt install python3 python3-venv      (Debian 12, Ubuntu 24.04 or later)
    Fedora           sudo dnf install python3.13
    macOS            brew install python@3.13
    Windows          use WSL 2 with Ubuntu, then as above
    conda            conda create -n headrace python=3.13 && conda activate headrace
  or name one yourself: make PYTHON=/path/to/python3.12 test
MESSAGE
exit 1
