"""The logical graph of a program: steps and edges, no Spark.  Next: graph/nodes.py"""
