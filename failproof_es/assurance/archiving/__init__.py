"""Archives old runs: moves the events of a run from the log into a verified file, and back."""
