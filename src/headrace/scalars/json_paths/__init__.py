"""JSON documents and the paths into them, as Flink's JSON functions understand both.

documents.py reads and writes JSON as Jackson does, values.py makes it of SQL's values; compiler.py
reads paths into steps.py, filters.py what stands in [?(...)].
Next: scalars/json_paths/paths.py, a path in lax or strict mode over a document.
"""
