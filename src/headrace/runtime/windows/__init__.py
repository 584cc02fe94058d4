"""Parts of the window operator: its description, the windows of a key that merge, its contexts."""
