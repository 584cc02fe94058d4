"""First result: from the start of a Python process to the first keyed result of three records.

Cold: importing headrace, starting Spark, the first batch.  Warm: the same job again in the same
process, from `execute()` to its first result; the fastest of three.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measure import arguments, report

PROGRAM = """
import json, time
from headrace.common import Types
from headrace.datastream import StreamExecutionEnvironment

imported = time.time()
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def run():
    found = []
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3)], PAIR)
    pairs.key_by(lambda pair: pair[0]).sum(1).add_sink(lambda pair: found.append(time.time()))
    began = time.time()
    env.execute("first")
    return began, found[0], time.time()


print(json.dumps({"imported": imported, "jobs": [run() for _ in range(4)]}))
"""


def main() -> None:
    options = arguments()
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with tempfile.TemporaryDirectory(prefix="headrace-first-") as folder:
        program = Path(folder, "program.py")
        program.write_text(PROGRAM)
        began = time.time()
        done = subprocess.run(
            [sys.executable, str(program)],
            cwd=folder, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
    told = json.loads(done.stdout.splitlines()[-1])
    first, *later = told["jobs"]
    cold = first[1] - began
    warm = [result - start for start, result, _ in later]
    ends = [end - start for start, _, end in later]
    report(
        system="headrace_first_result",
        job=options.job,
        events=3,
        seconds=round(cold, 2),
        events_per_s=round(3 / cold, 3),
        batch_ms=[round(1000 * seconds) for seconds in (cold, *warm)],
        note=f"cold {cold:.1f} s, of which import {told['imported'] - began:.1f}; "
        f"warm {min(warm):.2f} s, a whole warm job {min(ends):.2f} s",
    )


if __name__ == "__main__":
    main()
