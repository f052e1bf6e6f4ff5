"""Checks of every request: method, length, host, token; headers of every answer."""
