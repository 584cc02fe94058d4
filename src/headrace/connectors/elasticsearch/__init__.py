"""Elasticsearch and OpenSearch, through their bulk API.

builder.py (PyFlink's names), sink.py (description), emitter.py and actions.py (from records to
actions), writer.py and bulk.py (requests, in the workers), client.py (the way to the servers).
"""
