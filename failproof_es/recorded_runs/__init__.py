"""Reads runs that other tools recorded: what was asked and answered, and what does not map."""
