"""Continuous mode on Spark's real-time mode: all tasks of all stages run at the same time.

Next: host.py
"""
