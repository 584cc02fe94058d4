"""Names, types and functions: trees of syntax become nodes.  Next: rel/resolve/resolver.py"""
