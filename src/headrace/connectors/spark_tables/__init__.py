"""Tables that Spark knows by their names: table.py (the connector), source.py (what is read)."""
