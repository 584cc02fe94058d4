"""Kafka.

The source: source.py and source_builder.py (description), offsets.py (where reading begins and
ends), schema.py (messages to records), planner.py (driver side: partitions and offsets), reader.py
(worker side: messages); dynamic/ (streams over several clusters).
The sink: sink.py (description), serialization.py (records to messages), writer.py and producers.py
(workers), committer.py and decision_log.py (driver), transactions.py (the rules, without I/O),
transaction_admin.py (ends transactions).
Both: client.py (properties, and what each client is told), client_errors.py (their errors).
"""
