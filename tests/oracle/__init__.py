"""Differential tests: the same programs on the real PyFlink and on headrace. Start at README.md."""
