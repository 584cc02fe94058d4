"""Kafka.

The source: source.py and source_builder.py (description), offsets.py (where reading begins and
ends), schema.py (messages to records), planner.py (driver side: partitions and offsets), reader.py
(worker side: messages), client.py (settings and errors of the client library).
"""
