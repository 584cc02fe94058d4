"""Graph -> physical plan: levels, chains, native prefixes; no Spark.  Next: plan/planner.py"""
