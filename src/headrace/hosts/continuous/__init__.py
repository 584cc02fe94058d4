"""Long epochs ended by barriers: what a continuous run is made of, whatever carries its packets.

    coordinator.py   the driver: begins and ends epochs, keeps what survives (epochs.py)
    feeding.py       the driver: plans what source tasks read next
    loops.py         a task: packets or ranges in, packets out, barriers aligned
    segments.py      a task's state: files that are written once
    wire.py          the line between the two

Imports no pyspark.  Next: hosts/spark/continuous/ runs the tasks on Spark's streaming shuffle
"""
