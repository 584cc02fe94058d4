"""A plan as one query of micro-batches: build.py (driver), worker.py (in the Python workers)."""
