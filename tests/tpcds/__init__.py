"""TPC-DS: Flink's texts of the queries on generated data, judged by DuckDB."""
