"""Grades answers: decides where, derives what follows, and makes its events."""
