"""Where headrace differs from PyFlink on purpose: program -> the reason.

When a program of this list begins to give PyFlink's results, test_locally.py fails until the entry
is gone.  Each is told to users in docs/coming-from-flink.md.
"""

from __future__ import annotations

_JAVA = "follows Java Flink, as docs/coming-from-flink.md says: "
_TICK = (
    "headrace's periodic watermark comes at the end of a batch, so timers see it before the last "
    "watermark; PyFlink's first tick comes after the end of a short collection"
)

GAPS: dict[str, str] = {
    "fails_map_returning_none": "None is a record like any other in headrace",
    "fails_none_in_tuple": "fields may be None in headrace, as in Flink's rows",
    "key_groups_decide_the_subtask": "headrace hashes keys in its own way; Flink's hash is Java's",
    "key_groups_of_int_keys": "headrace hashes keys in its own way; Flink's hash is Java's",
    "process_without_timestamps": _JAVA + "ctx.timestamp() is None without a timestamp",
    "type_byte_array": "an array of bytes is bytes in Python, not a list of signed numbers",
    "type_sql_time": "headrace keeps the fraction of a second",
    "window_global_state": "PyFlink mixes up window and global state of one name",
    "timers_time_domain_and_watermark": _TICK,
    "window_current_watermark": _TICK,
}

# Single cases in which PyFlink's own result is wrong.
CASE_GAPS: dict[str, str] = {
    "window_all_aggregate-many-p1": "PyFlink loses records when sessions of window_all merge",
}

# Cases of the programs above in which nothing of it can be seen: an empty input, one subtask.
ALIKE = {
    "key_groups_decide_the_subtask-empty",
    "key_groups_decide_the_subtask-many-p1",
    "key_groups_decide_the_subtask-one",
    "key_groups_of_int_keys-empty",
    "key_groups_of_int_keys-many-p1",
    "key_groups_of_int_keys-one",
    "process_without_timestamps-empty",
    "timers_time_domain_and_watermark-empty",
    "timers_time_domain_and_watermark-one",
    "type_byte_array-empty",
    "type_sql_time-empty",
    "window_current_watermark-empty",
    "window_current_watermark-one",
    "window_global_state-empty",
}


def reason(program: str, case_id: str) -> str | None:
    """Why this case differs, or None."""
    return None if case_id in ALIKE else CASE_GAPS.get(case_id) or GAPS.get(program)
