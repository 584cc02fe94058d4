"""Keyed state: backends keep bytes, pages group keys, states give Flink's interface on top."""
