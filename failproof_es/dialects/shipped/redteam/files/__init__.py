"""Reads and checks red-team case files."""
