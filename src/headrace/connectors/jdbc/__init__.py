"""PyFlink's JDBC sink, on PostgreSQL.  Next: sink.py, then connectors/postgres/"""
