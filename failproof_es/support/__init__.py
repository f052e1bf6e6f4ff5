"""General helpers for every package: files, text, statistics, plugins."""
