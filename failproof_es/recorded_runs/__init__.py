"""Reads runs that other tools recorded: questions and answers, and a list of unmapped parts."""
