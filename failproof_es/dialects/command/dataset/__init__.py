"""Datasets of specification 004: read and checked."""
