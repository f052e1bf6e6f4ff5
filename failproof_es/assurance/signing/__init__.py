"""Grows the tree, signs it, and keeps signed checkpoints outside the database."""
