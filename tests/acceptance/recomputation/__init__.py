"""The numbers of whole runs, recomputed from raw events by a program of its own."""
