"""Imports runs that other tools recorded: as runs of their own, of which nothing was asked here."""
