"""The console beside a run: a process of its own, which cannot disturb it and ends with it."""
