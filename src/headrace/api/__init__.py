"""What users and the runtime both speak: functions, state descriptors, windows, tags, timers.

No module here imports what runs them.  Public under PyFlink's paths in datastream/.
"""
