"""Bounded work on untrusted input: children that can be killed, expressions of somebody else."""
