"""What extenders implement: sources, sinks, hosts, executors, layouts of state.

Next: source.py, sink.py
"""
