"""A run's progress while it goes: its state, and how it is shown."""
