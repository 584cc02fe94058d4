"""Writes docs/reference/options.md from the table of options in the code.

python scripts/options_page.py            rewrites the page
"""

from __future__ import annotations

from pathlib import Path

from headrace.common.options import describe_options

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "options.md"
HEAD = """# Options

Written by `make golden` from `src/headrace/common/options.py`; do not edit.

An option is set by code (`Configuration().set_string(key, value)`, passed to
`StreamExecutionEnvironment.get_execution_environment`), by a variable
(`HEADRACE_PARALLELISM_DEFAULT` for `parallelism.default`, `HEADRACE_EXECUTION_MODE` for
`headrace.execution.mode`), or in `headrace.toml` in the working
directory (or the file that `HEADRACE_CONFIG_FILE` names). Code wins over variables, variables win
over the file. An unknown key is an error that names the nearest one. Keys that begin with `spark.`
go to Spark as they are.

An option *acts*, or is *accepted without effect* so that programs of Flink move as they are (the
log says so once, at INFO), or is *refused*: an error that says what to set instead. A key that ends
in `*` stands for all of Flink's options that begin like it.

"""


def page() -> str:
    """The page as it should be."""
    return HEAD + describe_options()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
