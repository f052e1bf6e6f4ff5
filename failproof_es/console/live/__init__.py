"""Live numbers of runs, as server-sent events."""
