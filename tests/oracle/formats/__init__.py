"""What Flink's own JSON and CSV schemas make of bytes and rows: cases, and answers on file."""
