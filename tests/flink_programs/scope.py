"""Which programs test what the issue of SQL leaves to others, and why.

In: `Program`.  Out: a reason, or None.  Next: runner.py
"""

from __future__ import annotations

import re

from flink_programs.steps import Program, TableStep, option_key

BY_FILE = {
    "ProcessTableFunctionTestPrograms": "process table functions (step P3)",
    "MLPredictTestPrograms": "models and ML_PREDICT",
    "VectorSearchTestPrograms": "vector search",
    "DeltaJoinTestPrograms": "delta joins",
    "MultiJoinTestPrograms": "multi joins",
    "AsyncCalcTestPrograms": "asynchronous Java functions",
    "AsyncCorrelateTestPrograms": "asynchronous Java functions",
    "FromChangelogTestPrograms": "FROM_CHANGELOG, a process table function",
    "ToChangelogTestPrograms": "TO_CHANGELOG, a process table function",
    "LateralSnapshotJoinTestPrograms": "LATERAL SNAPSHOT, a process table function",
    "LateralSnapshotJoinSemanticTestPrograms": "LATERAL SNAPSHOT, a process table function",
}
BY_ID = {
    "agg-with-state-ttl-hint": "a savepoint that is older than the time to live",
    "interval-join-proc-time": "processing time: Flink's test waits between its rows",
    "sink-upsert-key-differs-from-pk-without-on-conflict": "ON CONFLICT, not named in the issue",
    "sink-append-only-with-pk-without-on-conflict": "ON CONFLICT, not named in the issue",
}
# What only programs have that no test of Flink runs.
NEVER_RUN = {
    "SELECT (SELECT name, nested FROM source_t, UNNEST(arr) AS T(nested)) FROM source_t": (
        "a program that no test of Flink runs"
    ),
}
BY_ID_PART = {
    "ml-predict": "models and ML_PREDICT",
    "ML_PREDICT": "models and ML_PREDICT",
    "VARIANT": "VARIANT",
    "ptf-": "process table functions (step P3)",
}
PROCESSING_TIME = re.compile(r"(agg|tumble|hop|session|cumulate)-proc-?time|aggregate-proctime")
BY_TEXT = {
    r"\bON\s+CONFLICT\b": "ON CONFLICT, not named in the issue",
    r"\bVARIANT\b|PARSE_JSON": "VARIANT",
    r"\bBITMAP": "bitmaps",
    r"DISTRIBUTED\s+(BY|INTO)": "DISTRIBUTED BY, not named in the issue",
}


def by_name(name: str) -> str | None:
    """Why a program is not for this judge, by the name of its id or field alone."""
    return next((why for part, why in BY_ID_PART.items() if part in name), None)


def outside_of_issue(program: Program, file: str | None = None) -> str | None:
    """Why a program is not for this judge; None if it is."""
    name = file or program.__dict__.get("file", "")
    if name in BY_FILE:
        return BY_FILE[name]
    if program.id in BY_ID:
        return BY_ID[program.id]
    if by_name(program.id) is not None:
        return by_name(program.id)
    if PROCESSING_TIME.search(program.id):
        return "windows of processing time: Flink's test waits for the clock"
    texts: list[str] = []
    for word, arguments in program.steps:
        if word == "setupModel":
            return "models and ML_PREDICT"
        if word == "setupTemporarySystemTemporalTableFunction":
            return "temporal table functions, which PyFlink does not have"
        if word == "setupConfig" and "sort.non-temporal" in option_key(arguments[0]):
            return "sorting of endless streams, an internal option of Flink's tests"
        if word == "setupConfig" and "delta-join" in option_key(arguments[0]):
            return "delta joins"
        if word in ("runSql", "setupSql", "runFailingSql"):
            texts.append(arguments[0])
        for each in arguments:
            if isinstance(each, TableStep):
                texts += each.schema
                if each.notes:
                    return ", ".join(sorted(each.notes))
    whole = "\n".join(texts)
    for part, why in NEVER_RUN.items():
        if part in whole:
            return why
    return next((why for form, why in BY_TEXT.items() if re.search(form, whole, re.I)), None)
