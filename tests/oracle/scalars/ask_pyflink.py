"""Asks Flink what scalar expressions give, and writes its answers to tests/golden/scalars.

    .venv-oracle/bin/python tests/oracle/scalars/ask_pyflink.py [--all] [name ...]

A file `<name>.txt` has an expression a line; ``-- zone: Europe/Berlin`` sets the session's zone for
what follows; other lines with two dashes are comments.  `<name>.json` gets an answer each: the type
and the value, or whether the planner refused it or the run failed.  Without `--all` only new ones
are asked.
tests/unit/scalars/test_against_flink.py compares.
"""

import json
import sys
from decimal import Decimal
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "scalars"


def cases(name):
    zone = "UTC"
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        text = line.strip()
        if text.startswith("-- zone:"):
            zone = text.removeprefix("-- zone:").strip()
        elif text and not text.startswith("--"):
            yield zone, text


def encoded(value):
    """A value of Java as JSON that loses nothing."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, Decimal):
        return {"decimal": format(value, "f")}
    if isinstance(value, (bytes, bytearray)):
        return {"bytes": bytes(value).hex()}
    name = value.getClass().getName()
    if name.startswith(("[", "java.util.Arrays")):
        return [encoded(item) for item in value]
    if name == "org.apache.flink.types.Row":
        return {"row": [encoded(value.getField(i)) for i in range(value.getArity())]}
    if name.startswith("java.util") and "Map" in name:
        return {"map": [[encoded(k), encoded(value[k])] for k in value]}
    if name == "java.time.Period":
        return {"months": value.toTotalMonths()}
    if name == "java.time.Duration":
        return {"ms": value.toMillis()}
    return {name.rsplit(".", 1)[-1]: value.toString()}


def first_line(error):
    text = str(getattr(error, "java_exception", error) or error)
    causes, java = [], getattr(error, "java_exception", None)
    while java is not None:
        causes.append(str(java.getMessage() or java.toString()))
        java = java.getCause()
    return (causes[-1] if causes else text).split("\n")[0][:200]


def planned(env, text):
    table = env.sql_query("SELECT " + text + " AS x")
    schema = table._j_table.getResolvedSchema()
    return schema.getColumnDataTypes().get(0).getLogicalType().asSerializableString()


def collected(env, texts):
    query = "SELECT " + ", ".join(f"{text} AS x{i}" for i, text in enumerate(texts))
    result = env._j_tenv.executeSql(query)
    iterator = result.collect()
    row = iterator.next()
    values = [encoded(row.getField(i)) for i in range(len(texts))]
    iterator.close()
    return values


def run(env, texts, answers):
    """Runs many at once; halves them when the run fails, to find out which one it was."""
    if not texts:
        return
    try:
        for text, value in zip(texts, collected(env, texts), strict=True):
            answers[text]["value"] = value
    except Exception as error:
        if len(texts) == 1:
            answers[texts[0]].update(error="run", message=first_line(error))
            return
        run(env, texts[: len(texts) // 2], answers)
        run(env, texts[len(texts) // 2 :], answers)


def ask(env, zone, texts):
    env.get_config().set("table.local-time-zone", zone)
    answers: dict = {text: {} for text in texts}
    for text in texts:
        print("plan", text, flush=True)
        try:
            answers[text]["type"] = planned(env, text)
        except Exception as error:
            answers[text].update(error="plan", message=first_line(error))
    good = [text for text in texts if "error" not in answers[text]]
    for start in range(0, len(good), 20):
        print("run", start, flush=True)
        run(env, good[start : start + 20], answers)
    return answers


def main():
    from pyflink.table import EnvironmentSettings, TableEnvironment

    names = [a for a in sys.argv[1:] if not a.startswith("--")]
    names = names or sorted(path.stem for path in FOLDER.glob("*.txt"))
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.get_config().set("parallelism.default", "1")
    for name in names:
        file = FOLDER / f"{name}.json"
        known = {}
        if file.exists() and "--all" not in sys.argv:
            known = {(a["zone"], a["sql"]): a for a in json.loads(file.read_text())}
        wanted = dict.fromkeys(cases(name))
        for zone in dict.fromkeys(zone for zone, _ in wanted):
            texts = [sql for z, sql in wanted if z == zone and (z, sql) not in known]
            for sql, answer in ask(env, zone, texts).items():
                known[zone, sql] = {"zone": zone, "sql": sql, **answer}
        lines = ",\n".join(json.dumps(known[case]) for case in wanted)
        file.write_text("[\n" + lines + "\n]\n")
        print(name, len(wanted))


if __name__ == "__main__":
    main()
