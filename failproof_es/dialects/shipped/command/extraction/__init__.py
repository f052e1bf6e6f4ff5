"""Extracts the command from a reply, and the text around it."""
