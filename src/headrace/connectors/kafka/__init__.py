"""Kafka.

The sink: sink.py (description), serialization.py (records to messages), writer.py and producers.py
(workers), committer.py and decision_log.py (driver), transactions.py (the rules, without I/O),
transaction_admin.py and sink_client.py (the clients).
"""
