"""Readings of many evaluations at once: comparisons, cases over runs, queues, distributions."""
