"""Jobs: starting, watching, ending them, and bringing their errors home.  Next: control/job.py"""
