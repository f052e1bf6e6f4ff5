"""Deterministic checks of a reply."""
