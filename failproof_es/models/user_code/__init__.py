"""Loads and calls classes of a user's own, which may do anything."""
