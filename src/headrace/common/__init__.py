"""Types, time, rows, configuration: what programs and the engine share, under PyFlink's paths."""
