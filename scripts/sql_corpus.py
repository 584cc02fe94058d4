"""Asks how much of Flink's own SQL our parser reads: documentation, client scripts, test programs.

    python scripts/sql_corpus.py /path/to/flink.git --flink .venv-oracle/bin/python [--failures]

In: a git repository of apache/flink, read with `git show`; nothing of it is kept.  Out: for each
kind how many statements are real, and how many of those we read; with --failures each one that we
refuse, or read although Flink refuses it.

What is real decides Flink: with --flink (a Python with PyFlink) a text is a statement if Flink's
own parser takes it.  Without, a text that looks like a grammar or a printed result is left out.
tests/sql_corpus holds statements of our own, which `make test` runs.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

from headrace.errors import SqlParseError
from headrace.sql.parser import parse_statement
from headrace.sql.render import render

SQL_BLOCKS = (
    re.compile(r"^```\s*sql\s*$(.*?)^```\s*$", re.MULTILINE | re.DOTALL | re.IGNORECASE),
    re.compile(r'\{\{<\s*highlight\s+"?sql"?\s*>\}\}(.*?)\{\{<\s*/highlight\s*>\}\}', re.DOTALL),
)
GRAMMAR = re.compile(r"^\s*[\[{|<]|\.\.\.|<[a-z_ ]+>|\[\s*[A-Z,]|\{\s*[A-Z|' ]+\s*\}|::=", re.M)
PRINTED = re.compile(r"^\s*(?:\+[-+]+\+|\||=+|-{4,}$|\[INFO\]|[0-9]+ rows? in set|Empty set)", re.M)
BEGINNING = re.compile(
    r"\s*(?:--[^\n]*\n\s*)*(?:SELECT|INSERT|CREATE|ALTER|DROP|WITH|EXPLAIN|DESC|SHOW|USE|SET|RESET|"
    r"EXECUTE|BEGIN|COMPILE|LOAD|UNLOAD|ANALYZE|TRUNCATE|DELETE|UPDATE|STOP|CALL|VALUES|REPLACE)\b",
    re.IGNORECASE,
)
JAVA_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*\+\s*"(?:[^"\\\n]|\\.)*")*(?!\s*\+)')

# Runs in a Python that has PyFlink: says of each text whether Flink's parser takes it.
JUDGE = """
import json, sys
from pyflink.table import EnvironmentSettings, TableEnvironment
tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
parser = tables._j_tenv.getParser()
def refused(error):
    cause = getattr(error, 'java_exception', None)
    while cause is not None:
        if 'SqlParse' in cause.getClass().getName():
            return True
        cause = cause.getCause()
    return 'only single statement' in str(error)
def taken(text):
    try:
        parser.parse(text)
    except Exception as error:
        return not refused(error)
    return True
texts = json.load(open(sys.argv[1]))
json.dump([taken(text) for text in texts], open(sys.argv[2], 'w'))
"""


def git(repository: str, *arguments: str, given: str | None = None) -> str:
    return subprocess.run(
        ["git", "-C", repository, *arguments],
        capture_output=True, text=True, errors="replace", check=True, input=given,
    ).stdout  # fmt: skip


def contents(repository: str, pattern: str) -> str:
    """All files whose path matches, one behind the other."""
    names = git(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    chosen = [f"HEAD:{name}" for name in names if re.search(pattern, name)]
    return git(repository, "cat-file", "--batch", given="\n".join(chosen))


def documented(repository: str) -> list[str]:
    """Statements of the blocks of SQL in the English documentation, without Hive's dialect."""
    text = contents(repository, r"^docs/content/docs/(?!.*hive-compat).*\.md$")
    blocks = [block for pattern in SQL_BLOCKS for block in pattern.findall(text)]
    return [part for block in blocks for part in parts_of(block)]


def client_scripts(repository: str) -> list[str]:
    """Statements of the SQL client's .q files; their expected results are left out."""
    text = re.sub(r"^#.*$", "", contents(repository, r"\.q$"), flags=re.MULTILINE)
    text = re.sub(r"^!(?:output|info|error|ok|warning).*$", ";", text, flags=re.MULTILINE)
    text = re.sub(r"^(?:\+|\||\[|[0-9]+ rows?|Empty|Received|org\.|at ).*$", "", text, flags=re.M)
    return parts_of(text)


def tested(repository: str) -> list[str]:
    """Texts in the table modules' tests, in Java, Scala and Python, that begin like a statement."""
    source = contents(
        repository, r"(?:flink-table/.*src/test/.*\.(?:java|scala)|flink-python/.*test.*\.py)$"
    )
    found = dict.fromkeys(
        re.sub(r"^\s*\|", "", block, flags=re.MULTILINE)
        for block in re.findall(r'"""(.*?)"""', source, re.DOTALL)
    )
    for text in JAVA_TEXT.finditer(re.sub(r'""".*?"""', '""', source, flags=re.DOTALL)):
        pieces = re.findall(r'"(?:[^"\\\n]|\\.)*"', text[0])
        if not source[max(0, text.start() - 20) : text.start()].rstrip().endswith("+"):
            found["".join(map(java_string, pieces))] = None
    whole = [text for text in found if BEGINNING.match(text) and not re.search(r"%s|\$|{}", text)]
    return [text.strip().rstrip(";") for text in whole if len(text) > 8]


def java_string(literal: str) -> str:
    try:
        return str(ast.literal_eval(literal))
    except (SyntaxError, ValueError):
        return ""


def parts_of(block: str) -> list[str]:
    """Statements of a block; statement sets stay whole, prompts go."""
    block = textwrap.dedent(block)
    block = re.sub(r"^\s*(?:Flink SQL>\s?|>\s)", "", block, flags=re.MULTILINE)
    whole, part = [], ""
    for piece in re.split(r"(;\s*(?:--[^\n]*)?(?:\n|$))", block):
        part += piece
        opened = re.search(r"STATEMENT\s+SET\s+BEGIN", part, re.IGNORECASE)
        if opened and not re.search(r"^\s*END\b", part, re.IGNORECASE | re.MULTILINE):
            continue
        if piece.startswith(";"):
            whole.append(part)
            part = ""
    return [part.strip().rstrip(";") for part in [*whole, part] if without_comments(part)]


def without_comments(text: str) -> str:
    return re.sub(r"--[^\n]*|/\*(?!\+).*?\*/", "", text, flags=re.DOTALL).strip(" ;\n\t\r")


def judged_by_flink(python: str, texts: list[str]) -> list[bool]:
    with tempfile.TemporaryDirectory() as folder:
        asked, answered = Path(folder, "asked.json"), Path(folder, "answered.json")
        asked.write_text(json.dumps(texts), encoding="utf-8")
        subprocess.run(
            [python, "-c", JUDGE, str(asked), str(answered)], check=True, capture_output=True
        )
        return list(json.loads(answered.read_text(encoding="utf-8")))


def judged_by_looks(texts: list[str]) -> list[bool]:
    return [not GRAMMAR.search(without_comments(t)) and not PRINTED.search(t) for t in texts]


def refusal(text: str) -> str | None:
    """Why we refuse it; None if we read it, and our text of it reads the same."""
    try:
        found = parse_statement(text)
    except SqlParseError as error:
        return str(error)
    again = render(found)
    return None if parse_statement(again) == found else f"comes back as something else: {again}"


KINDS = {"docs": documented, "client": client_scripts, "tests": tested}


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("repository")
    options.add_argument("--flink", help="a Python with PyFlink: Flink's parser says what is real")
    options.add_argument("--failures", action="store_true", help="print what we refuse, and why")
    options.add_argument("--kind", choices=KINDS, action="append")
    given = options.parse_args()
    for kind in given.kind or KINDS:
        texts = KINDS[kind](given.repository)
        real = judged_by_flink(given.flink, texts) if given.flink else judged_by_looks(texts)
        counts: Counter[str] = Counter()
        for text, is_real in zip(texts, real, strict=True):
            reason = refusal(text)
            counts[f"{'real' if is_real else 'other'}, {'read' if not reason else 'refused'}"] += 1
            if given.failures and is_real and reason:
                print(f"--- refused\n{textwrap.indent(text, '    ')}\n{reason}\n")
            if given.failures and given.flink and not is_real and not reason:
                print(f"--- read, and Flink does not\n{textwrap.indent(text, '    ')}\n")
        read, refused = counts["real, read"], counts["real, refused"]
        print(f"{kind}: {read} of {read + refused} ({read / (read + refused):.1%}); {dict(counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
