"""The numbers of whole runs, recomputed from raw events by code that shares nothing with the product."""
