"""How records get from subtask to subtask: partition.py, buffers.py, outbox.py."""
