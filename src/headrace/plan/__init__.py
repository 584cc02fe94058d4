"""Graph -> physical plan: levels, chains, native prefixes; still no Spark.  Next: plan/planner.py"""
