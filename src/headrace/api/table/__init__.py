"""What users of the Table API write, and workers run.  Next: api/table/functions.py"""
