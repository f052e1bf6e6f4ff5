"""The progress of a running run: its state, and how it is shown."""
