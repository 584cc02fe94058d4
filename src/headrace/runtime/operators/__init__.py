"""The operators that run in a worker, one small file per family.  Next: operators/base.py"""
