"""SQL text in Flink's dialect as statements; knows nothing of tables.  Next: sql/parser.py"""
