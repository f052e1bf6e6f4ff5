"""Limits the concurrent requests of a server and of a run."""
