"""Plans run in this process, without Spark and Java.

For tests that must take milliseconds (testing/local_runner.py), and for small jobs whose sources
are written in Python: the same stages, tasks, packets and state pages as on Spark.
Next: host.py, stages.py (the work of an epoch), sources.py
"""
