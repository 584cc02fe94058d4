"""Asks Flink for functions of time in several zones, and writes tests/golden/zones.json.

    .venv-oracle/bin/python tests/oracle/zones/ask_pyflink.py

Each expression of cases.py is asked as a constant, over VALUES and over a file, in batch mode and
in streaming mode.  Where all agree, which is nearly everywhere, the answer has `values`, one for
each moment; else it has them by form.  tests/unit/table/test_zones.py compares.
"""

import json
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import cases  # noqa: E402
from scalars.ask_pyflink import encoded, first_line  # noqa: E402

GOLDEN = HERE.parents[1] / "golden" / "zones.json"


def environment(zone, folder, *, batch):
    from pyflink.table import EnvironmentSettings, TableEnvironment

    builder = EnvironmentSettings.new_instance()
    settings = builder.in_batch_mode() if batch else builder.in_streaming_mode()
    env = TableEnvironment.create(settings.build())
    env.get_config().set("parallelism.default", "1")
    env.get_config().set("table.local-time-zone", zone)
    declared, lines = cases.file_table(zone, folder)
    (Path(folder) / "moments.csv").write_text(lines)
    env.execute_sql(declared)
    return env


def planned(env, zone, expression):
    """The type of an expression, and why Flink refuses it."""
    try:
        table = env.sql_query(cases.query("file", zone, [expression]))
        kind = table._j_table.getResolvedSchema().getColumnDataTypes().get(1).getLogicalType()
        return {"type": kind.asSerializableString()}
    except Exception as error:
        return {"error": "plan", "message": first_line(error)}


def collected(env, form, zone, expressions):
    """The values of each expression, one a moment."""
    iterator = env._j_tenv.executeSql(cases.query(form, zone, expressions)).collect()
    rows = {}
    while iterator.hasNext():
        row = iterator.next()
        rows[row.getField(0)] = [encoded(row.getField(i + 1)) for i in range(len(expressions))]
    iterator.close()
    return [[rows[i][place] for i in sorted(rows)] for place in range(len(expressions))]


def asked(env, form, zone, expressions, found):
    """Asks many at once; halves them when one fails, to find out which."""
    if not expressions:
        return
    try:
        for each, values in zip(expressions, collected(env, form, zone, expressions), strict=True):
            found[each] = values
    except Exception as error:
        if len(expressions) == 1:
            found[expressions[0]] = {"error": first_line(error)}
            return
        middle = len(expressions) // 2
        asked(env, form, zone, expressions[:middle], found)
        asked(env, form, zone, expressions[middle:], found)


def answers(zone):
    found: dict = {}
    types: dict = {}
    for batch in (True, False):
        with tempfile.TemporaryDirectory() as folder:
            env = environment(zone, folder, batch=batch)
            types = {each: planned(env, zone, each) for each in cases.EXPRESSIONS}
            good = [each for each in cases.EXPRESSIONS if "error" not in types[each]]
            for form in cases.FORMS:
                print(zone, "batch" if batch else "streaming", form, flush=True)
                by_text = found.setdefault((form, batch), {})
                for start in range(0, len(good), 25):
                    asked(env, form, zone, good[start : start + 25], by_text)
    for each in cases.EXPRESSIONS:
        answer = {"zone": zone, "sql": each, **types[each]}
        if "error" not in answer:
            given = {
                f"{form} {'batch' if batch else 'streaming'}": by_text[each]
                for (form, batch), by_text in found.items()
            }
            first = next(iter(given.values()))
            same = all(values == first for values in given.values())
            answer |= {"values": first} if same else {"differ": given}
        yield answer


def main():
    lines = [json.dumps(answer) for zone in cases.ZONES for answer in answers(zone)]
    GOLDEN.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(GOLDEN, len(lines))


if __name__ == "__main__":
    main()
