"""Assurance: signs the log, and verifies it.

The integrator puts events into the tree after they are committed, checkpoints sign the tree,
verification compares the log with the tree and with checkpoints kept elsewhere, and evidence
exports one run for other people. The formats are `failproof_es.ledger`'s.
"""
