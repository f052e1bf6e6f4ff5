"""Queues of evaluations that people label: who gets which evaluation, and what they came to."""
