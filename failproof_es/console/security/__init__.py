"""Checks of every request: method, length, host, token, person, form; headers of responses."""
