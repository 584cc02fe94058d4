"""State outside of a query: for savepoints (export.py, seeding.py), as tables (tables.py)."""
