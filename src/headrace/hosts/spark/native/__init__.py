"""What Catalyst runs itself: steps.py, and whole programs in job.py."""
