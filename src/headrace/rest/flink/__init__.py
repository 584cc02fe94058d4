"""Flink's JSON out of read models: pure functions, one module a family of paths.

In: control/views/models.py.  Out: plain dictionaries with Flink's keys.  Keys that only headrace
has are allowed: Flink's clients read past them.  tests/oracle/rest compares with Flink's answers.
"""

from __future__ import annotations
