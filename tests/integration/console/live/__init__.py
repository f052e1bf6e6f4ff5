"""Live pages, long answers and outages."""
