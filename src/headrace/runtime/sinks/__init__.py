"""The sinks that headrace ships, as they run: writers in the workers, committers on the driver.

file_writer.py -> file_committer.py write files exactly once; print_sink.py, collect.py,
discarding.py and function.py are the small ones.  Next: datastream/connectors/sink.py (the base).
"""
