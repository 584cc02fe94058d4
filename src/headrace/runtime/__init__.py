"""Runs inside Spark's Python workers, and in tests without Spark; knows nothing of Spark.

Start reading at task.py (the loop); operators/ does the work; state/ keeps it.
"""
