"""The operators of SQL and the Table API, as they run in workers.  Next: runtime/table/base.py"""
