"""Deterministic simulation: the engine under a simulated clock, network, log and scheduler."""
