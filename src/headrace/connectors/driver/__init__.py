"""Sinks whose effect happens on the driver: printing, collecting.  Next: record_chunks.py"""
