"""Scalar expressions of SQL and the Table API, with Flink's meaning.  Next: scalars/nodes.py"""
