"""Verifying the log, and what that can find."""
