"""Reads and checks the datasets of specification 004."""
