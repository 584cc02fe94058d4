"""Catalogs: databases, tables, views and functions by name.  Next: table/catalogs/manager.py"""
