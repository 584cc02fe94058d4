"""Windows of SQL: table functions that put lines into windows, and what is computed over them."""
