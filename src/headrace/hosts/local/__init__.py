"""Plans run in this process, without Spark and Java.  Next: host.py

For tests that must take milliseconds (testing/local_runner.py), and for small jobs whose sources
are written in Python: the same stages, tasks, packets and state pages as on Spark.
"""
