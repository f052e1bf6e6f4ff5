"""The frame of commands: their list, shared options, errors, the end of a run (`run_end.py`)."""
