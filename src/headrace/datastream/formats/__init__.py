"""File formats, under PyFlink's paths: csv.py, json.py and parquet.py, each for both directions.

The reading half of a format is in its ``*_reader.py``.
"""
