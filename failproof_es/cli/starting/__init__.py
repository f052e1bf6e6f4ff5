"""Shared by commands that drive a run: selection, permissions, telemetry, carrying it out."""
