"""The report as a page: its sections, made of blocks."""
