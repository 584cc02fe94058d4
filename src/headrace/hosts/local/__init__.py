"""Runs programs in this process, without Spark.  Next: sources.py"""
