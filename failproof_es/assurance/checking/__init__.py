"""Verifies the log: rows (`verification.py`), whole tiles of rows (`ranges.py`), and findings."""
