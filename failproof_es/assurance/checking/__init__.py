"""Verifies the log: the checks and their findings."""
