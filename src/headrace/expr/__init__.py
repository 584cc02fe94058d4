"""Column expressions: one meaning, run by row, as Arrow kernels or by Spark.

Next: expressions.py
"""
