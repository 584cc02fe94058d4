"""Asks PyFlink what scalar functions give, and keeps the answers as goldens.

    .venv-oracle/bin/python tests/oracle/ask_scalars.py [family ...]      all without names
    .venv-oracle/bin/python tests/oracle/ask_scalars.py --new strings     what has no answer

In: scalar_cases/<family>.py, each with a list CASES.  Out: tests/golden/scalars/<family>.json.
tests/unit/scalars/functions/test_answers_of_flink.py compares headrace with them, without PyFlink.

Every argument is written as SQL: one of a type that may be NULL stands behind a condition on a
column, so that it is what its type says and is not folded away.  Many calls are one query; where a
query fails its calls are asked one by one.  Standard library and PyFlink only.
"""

from __future__ import annotations

import datetime
import decimal
import importlib
import json
import math
import sys
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "scalars"
CHUNK = 64
DATAGEN = """CREATE TEMPORARY TABLE line (f INT) WITH ('connector' = 'datagen',
 'number-of-rows' = '1', 'fields.f.kind' = 'sequence', 'fields.f.start' = '1',
 'fields.f.end' = '1')"""


def inner(type_: str) -> list[str]:
    """The types between the brackets of ARRAY<..>, MAP<..> or ROW<..>, with names of fields."""
    body, parts, depth = type_[type_.index("<") + 1 : type_.rindex(">")], [""], 0
    for sign in body:
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def plain(type_: str, value: Any) -> str:
    """SQL of a value without its type's width."""
    root = type_.split("(")[0].split("<")[0].split(" ")[0]
    if value is None:
        return f"CAST(NULL AS {type_.removesuffix(' NOT NULL')})"
    if root in ("CHAR", "VARCHAR", "STRING"):
        return "'" + str(value).replace("'", "''") + "'"
    if root in ("BINARY", "VARBINARY", "BYTES"):
        return f"X'{value}'"
    if root == "BOOLEAN":
        return str(value).upper()
    if root in ("DOUBLE", "FLOAT"):
        return f"'{value}'"
    if root in ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ"):
        return f"{root.removesuffix('_LTZ')} '{value}'"
    if root == "ARRAY":
        return "ARRAY[" + ", ".join(written(inner(type_)[0], each) for each in value) + "]"
    if root == "MAP":
        key, item = inner(type_)
        return "MAP[" + ", ".join(f"{written(key, k)}, {written(item, v)}" for k, v in value) + "]"
    if root == "ROW":
        types = [part.split(" ", 1)[1] for part in inner(type_)]
        return "ROW(" + ", ".join(map(written, types, value)) + ")"
    return str(value)


def written(type_: str, value: Any) -> str:
    """SQL of a value that has exactly this type, if it is not NULL."""
    bare = type_.removesuffix(" NOT NULL")
    text = plain(bare, value)
    literal = bare == "INT" or bare == "BOOLEAN" or bare.startswith("CHAR(")
    if value is None or (literal and type_ != bare):
        return text
    return f"CAST({text} AS {bare})"


def argument(type_: str, value: Any) -> str:
    """SQL of an argument, NULL or not."""
    if type_ == "NULL":
        return "NULL"
    text = written(type_, value)
    if type_.endswith("NOT NULL") or value is None:
        return text
    return f"CASE WHEN f = 1 THEN {text} END"


def expression(case: dict[str, Any]) -> str:
    """SQL of a call."""
    arguments = [argument(*each) for each in case["arguments"]]
    places = ", ".join(f"{{{i}}}" for i in range(len(arguments)))
    return str(case.get("sql", f"{case['function']}({places})").format(*arguments))


def encoded(value: Any) -> Any:
    """A value as JSON; pairs of maps in the order of their text."""
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, datetime.date | datetime.time | datetime.datetime):
        return value.isoformat()
    if isinstance(value, dict):
        pairs = [[encoded(key), encoded(item)] for key, item in value.items()]
        return sorted(pairs, key=str)
    if type(value).__name__ == "Row" or isinstance(value, list | tuple):
        return [encoded(each) for each in value]
    return value


class Flink:
    """A session of the real Flink."""

    def __init__(self) -> None:
        """Starts it in this process."""
        from pyflink.table import EnvironmentSettings, TableEnvironment

        self.env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        self.env.get_config().set("parallelism.default", "1")
        self.env.get_config().set("table.local-time-zone", "UTC")
        self.env.execute_sql(DATAGEN)
        self.tail = ""
        self.types_only = False

    def answers(self, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What Flink says to each case."""
        if not cases:
            return []
        if len(cases) > CHUNK:
            parts = [cases[i : i + CHUNK] for i in range(0, len(cases), CHUNK)]
            return [answer for part in parts for answer in self.answers(part)]
        try:
            return self.ask(cases)
        except Exception as error:  # whatever Flink raises is an answer
            if len(cases) == 1:
                text = str(error)
                if "Ran out of input" in text:  # PyFlink cannot fetch NULL inside of a collection
                    return [self.ask_as_json(cases[0])]
                kind = "run" if "Job execution failed" in text else "plan"
                print(f"{expression(cases[0])}: {kind}: {reason(text)}", file=sys.stderr)
                return [{"error": kind}]
            middle = len(cases) // 2
            return self.answers(cases[:middle]) + self.answers(cases[middle:])

    def ask(self, cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """One query for all of them; raises if one fails."""
        columns = ", ".join(f"{expression(case)} AS c{i}" for i, case in enumerate(cases))
        table = self.env.sql_query(f"SELECT {columns} FROM line{self.tail}")
        columns = table._j_table.getResolvedSchema().getColumnDataTypes()
        types = [column.getLogicalType().asSerializableString() for column in columns]
        if self.types_only:
            return [{"type": type_} for type_ in types]
        with table.execute().collect() as rows:
            (row,) = list(rows)
        return [
            {"type": type_, "value": encoded(value)}
            for type_, value in zip(types, row, strict=True)
        ]

    def ask_as_json(self, case: dict[str, Any]) -> dict[str, Any]:
        """An answer whose value comes as JSON: arrays and maps of plain values."""
        text = expression(case)
        table = self.env.sql_query(f"SELECT {text} AS a, JSON_STRING({text}) AS b FROM line")
        type_ = table._j_table.getResolvedSchema().getColumnDataTypes().get(0).getLogicalType()
        with table.select(table.b).execute().collect() as rows:
            (row,) = list(rows)
        text = type_.asSerializableString()
        return {"type": text, "value": encoded(unnamed(text, json.loads(row[0])))}


def unnamed(type_: str, value: Any) -> Any:
    """A value that came as JSON, with rows as lists of their fields."""
    if type_.startswith("ROW"):
        return list(value.values())
    if type_.startswith("ARRAY<ROW"):
        return [list(each.values()) for each in value]
    return value


def reason(text: str) -> str:
    """The last cause in the text of an exception."""
    causes = [line for line in text.splitlines() if "Exception" in line or "Error" in line]
    return (causes or [text])[-1].strip()[:200]


def question(case: dict[str, Any]) -> str:
    """A case without its answer, as text."""
    return json.dumps({key: case[key] for key in ("function", "arguments", "sql") if key in case})


def known_answers(path: Path) -> dict[str, dict[str, Any]]:
    """The answers that a file has, by their question."""
    if not path.exists():
        return {}
    cases = json.loads(path.read_text(encoding="utf-8"))
    parts = ("type", "value", "error")
    return {question(case): {key: case[key] for key in parts if key in case} for case in cases}


def main(families: list[str], *, only_new: bool) -> None:
    """Asks, and writes the files."""
    folder = Path(__file__).resolve().parent
    sys.path.insert(0, str(folder.parent))
    flink = Flink()
    for family in families or sorted(p.stem for p in (folder / "scalar_cases").glob("[a-z]*.py")):
        module = importlib.import_module(f"oracle.scalar_cases.{family}")
        cases, flink.tail = module.CASES, getattr(module, "TAIL", "")
        flink.types_only = getattr(module, "TYPES_ONLY", False)
        kept = {} if not only_new else known_answers(GOLDEN / f"{family}.json")
        asked = [case for case in cases if question(case) not in kept]
        kept |= dict(zip(map(question, asked), flink.answers(asked), strict=True))
        answers = [kept[question(case)] for case in cases]
        lines = [
            json.dumps(case | answer, ensure_ascii=True)
            for case, answer in zip(cases, answers, strict=True)
        ]
        text = "[\n" + ",\n".join(lines) + "\n]\n"
        (GOLDEN / f"{family}.json").write_text(text, encoding="utf-8")
        print(f"{family}: {len(cases)} answers")


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "--new"], only_new="--new" in sys.argv)
