"""Flink's SQL client scripts (``sql/*.q``) as a judge of headrace's SQL client.

A checkout of Flink is read, nothing of it is kept here.  Start with report.py:
``make flink-scripts FLINK_SRC=...``.  Path: script.py, java.py, session.py, compare.py
"""
