"""Preflight: the checks, estimates and announcements before a run's first request."""
