"""Shared code of providers to read replies."""
