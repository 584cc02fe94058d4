"""Flink's declarative table programs (`TableTestProgram`) as a judge of headrace's SQL.

A checkout of Flink is read, nothing of it is kept here.  Start with report.py:
``make flink-programs FLINK_SRC=...``.  Path: java_syntax.py, java_values.py, steps.py, runner.py
"""
