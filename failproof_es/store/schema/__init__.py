"""Installs, migrates, checks and protects the schema in a database."""
