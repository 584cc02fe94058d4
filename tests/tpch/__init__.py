"""TPC-H: tables of our own making, and the 22 queries in words that all engines understand."""
