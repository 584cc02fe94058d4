"""State outside of a query: savepoints (export.py, seeding.py), tables.py, clearing.py."""
