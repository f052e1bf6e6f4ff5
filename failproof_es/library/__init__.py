"""For Python programs: evaluates a configuration, and opens a run as typed results."""
