"""Patterns over event streams against Java Flink's CEP library, which PyFlink does not expose.

cases.py makes cases, flink.py asks Flink, ours.py runs headrace, golden.jsonl keeps answers.
"""
