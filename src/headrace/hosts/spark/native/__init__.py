"""What Catalyst runs itself: steps.py, windows.py, and whole programs in job.py."""
