"""How records look in files and texts: CSV, JSON, Parquet, lines.

Public under PyFlink's paths in datastream/formats/.  The reading half of a format is in its
``*_reader.py``, the writing half in bulk_writers.py behind the factories of writer_factories.py.
"""
