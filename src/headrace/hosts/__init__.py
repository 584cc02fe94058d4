"""What runs a plan: spark/ (a streaming query) or this process alone."""
