"""What records are while they travel: Python values, Arrow columns, bytes.

Next: records.py (a list of them), codec.py (values to columns and back), pickling.py (no declared
type).
"""
