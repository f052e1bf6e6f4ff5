"""Verdicts of people and programs on finished evaluations, and how they compare."""
