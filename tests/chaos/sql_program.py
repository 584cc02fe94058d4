"""The job under attack in SQL: two tables, a join of them, GROUP BY, upserts into PostgreSQL.

In: a JSON file of settings, the only argument.  Out: rows of PostgreSQL's table `totals`.
Next: chaos/sql_text.py (the statements); chaos/program.py, whose way to stop it shares
"""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

from chaos.program import serve
from chaos.sql_text import EVENTS, GRADES, QUERY, create_table, sink_columns
from headrace.common import Configuration
from headrace.table import EnvironmentSettings, TableEnvironment


def environment(settings: dict[str, Any]) -> TableEnvironment:
    configuration = Configuration()
    for key, value in settings["options"].items():
        configuration.set_string(key, value)
    configuration.set_string("parallelism.default", str(settings["parallelism"]))
    wished = EnvironmentSettings.new_instance().in_streaming_mode()
    return TableEnvironment.create(wished.with_configuration(configuration).build())


def main() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    settings = json.loads(Path(sys.argv[1]).read_text())
    tables = settings["medium"]
    t_env = environment(settings)
    t_env.execute_sql(create_table("events", EVENTS, tables["events"]))
    t_env.execute_sql(create_table("grades", GRADES, tables["grades"]))
    t_env.execute_sql(create_table("totals", sink_columns(), tables["totals"]))
    began = time.monotonic()
    client = t_env.execute_sql(f"INSERT INTO totals {QUERY}").get_job_client()
    assert client is not None
    print(f"job runs after {time.monotonic() - began:.1f} s", flush=True)
    serve(client, Path(settings["control"]))


if __name__ == "__main__":
    main()
