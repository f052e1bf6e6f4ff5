"""Calibration of judges: a random sample of their verdicts, people's labels, measured errors."""
