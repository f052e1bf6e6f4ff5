"""Verdicts from outside a run's judges: people's and programs', and how they compare."""
