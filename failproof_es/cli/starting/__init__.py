"""Options of several commands that start a run: its part, telemetry, missing models."""
