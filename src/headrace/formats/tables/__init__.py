"""Formats of tables: json, csv, raw, avro and their kin.  Next: formats/tables/registry.py"""
