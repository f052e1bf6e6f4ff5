"""Assurance: what makes the log provable, and what proves it.

The integrator puts events into the tree after they are committed, checkpoints sign the tree,
verification compares the log with the tree and with checkpoints kept elsewhere, and evidence
carries one run to somebody else. The formats are `failproof_es.ledger`'s.
"""
