"""Reads the log, row by row or as collections."""
