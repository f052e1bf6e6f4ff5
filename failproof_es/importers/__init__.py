"""Importers: each reads the cases of another tool's files, and says what it can't take over."""
