"""Streams over several clusters of Kafka.

builder.py and source.py (description), metadata.py (who knows streams, and who chooses some),
clusters.py (a KafkaSource for each cluster, which follow what the service says).
"""
