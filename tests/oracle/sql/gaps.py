"""Where headrace differs from Flink on purpose, or not yet: case -> the reason.

When a case of this list gives Flink's answer, test_sql.py fails until the entry is gone.
"""

from __future__ import annotations

_ZONES = (
    "Flink loses windows: in a zone without daylight saving time it asks when the next window ends "
    "by UTC, so that windows whose end has passed by then get no timer; with such time (zones.py), "
    "in group windows (group_tumble_ltz) and in BATCH mode it has them, as we do"
)
_MIDDLE = (
    "Flink loses changes: where a line leaves the front of a Top-N that does not begin with its "
    "first line, those that move up are not sent"
)
# What headrace answers here, test_second_opinion.py compares with DuckDB.
_PLANNER = "Flink's planner fails with an internal error; headrace gives what SQL means"

_SESSIONS = "headrace has sessions in BATCH mode, too; Flink refuses them"
_AT_MOST = "Flink's documentation has {,n}, its planner takes the missing number for -1 and fails"
_FILLER = (
    "a default that is never NULL makes Flink declare the result NOT NULL, so that a NULL that is "
    "there becomes what its generated code has for none (-1, '', FALSE) or fails the job; here it "
    "stays NULL, as Flink has it with a default that may be NULL, and as DuckDB has it"
)

GAPS: dict[str, str] = {
    "tumble_ltz": _ZONES,
    "cumulate_ltz": _ZONES,
    "qualify_aliases_swapped": "Flink compares the column of the SELECT list at the place that the "
    "name has behind FROM: n > 15; headrace compares the column that the name stands for",
    "qualify_groups": "Flink compares another column than r: it keeps lines 4 and 5",
    "number_equals_digits": "headrace reads a text that is compared with a number as one",
    "two_over_windows": "headrace computes aggregates over different windows; Flink refuses",
    "group_session_batch": _SESSIONS,
    "group_distinct_batch": "headrace has DISTINCT in group windows in BATCH mode, too",
    "group_tumble_ltz_batch": "headrace has group windows of TIMESTAMP_LTZ in BATCH mode, too; "
    "Flink's planner says: Unknown window type encountered. Please report this bug",
    "group_tumble_clock": "Flink gives NULL for the PROCTIME of a window of event time, headrace "
    "the time at which the window is processed",
    "session_tvf_batch": _SESSIONS,
    "over_batch_ranks_together": "Flink takes CUME_DIST line by line behind another ranking "
    "function; alone it gives ties one value, as we do (over_batch_cume_dist_ties)",
    "top_one": "Flink takes a Top-1 for a deduplication that keeps the first line, unless it is by "
    "one column in descending order: its plan says that it only inserts, and it emits +U alone",
    "top_middle_unnumbered": _MIDDLE,
    "top_second": _MIDDLE,
    "limit_offset_changing": _MIDDLE,
    "top_unknown_bound": "headrace numbers all lines where Flink wants an upper bound",
    "scalar_row_limit": _PLANNER,
    "scalar_beside_groups_correlated": _PLANNER,
    "exists_beside_groups": _PLANNER,
    "having_exists": _PLANNER,
    "having_not_exists": _PLANNER,
    "join_on_in": _PLANNER,
    "exists_of_union": _PLANNER,
    "lateral_left_top": _PLANNER,
    "lateral_top_one": _PLANNER,
    "lateral_top_offset": _PLANNER,
    "lateral_without_from": _PLANNER,
    "or_not_in_correlated": "NULL NOT IN (nothing) is true; Flink agrees only without OR",
    "not_in_with_null_correlated": "Flink looks for lines of outside by =, so NULL finds nothing",
    "scalar_select_of_outside": "Flink wants columns of outside grouped; they are constants inside",
    "floor_of_changed_day": "where the clock changes Flink's days begin at 23:00 or at 01:00",
    "ltz_hour_before_1970": "Flink gives a negative hour for a TIMESTAMP_LTZ before 1970",
    "match_at_most": _AT_MOST,
    "match_loose_at_most": _AT_MOST,
    "match_two_keys_turned": "Flink sorts the columns of PARTITION BY and mixes their types up",
    "match_no_subset": "Flink takes SUBSET and gives NULL for its columns; headrace refuses it",
    "match_no_zero_time": "Flink takes WITHIN of no time for no limit; headrace refuses it",
    "match_no_colon": "the automaton numbers its states behind a colon; Flink takes such names",
    "match_no_anchors": "Flink takes ^ and does not look at it; headrace refuses it",
    "near_default": _FILLER,
    "near_default_batch": _FILLER,
    "near_default_int": _FILLER,
    "near_default_text": _FILLER,
    "near_default_double": _FILLER,
    "near_default_decimal": _FILLER,
    "near_default_boolean": _FILLER,
    "near_timed_default": _FILLER,
    "near_column_offset": "an offset that is a column's: Flink cannot send its function to workers",
    "near_ignore_nulls": "Flink takes IGNORE NULLS behind LAG and does not look at it; headrace "
    "refuses it",
}
