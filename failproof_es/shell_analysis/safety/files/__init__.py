"""Finds the files that a command names, and what is under a path."""
