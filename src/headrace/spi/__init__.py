"""What extenders implement: sources, sinks, hosts, executors, layouts of state.

Next: source.py, sink.py, staging.py (what exactly-once sinks share), connector.py (found by name)
"""
