"""The only folder that imports pyspark: turns a physical plan into one streaming query.

Next: microbatch/build.py
"""
