"""Asking over HTTP, and reading what a server sends within bounds of size, memory and time."""
