"""Quizzes for failproof-es, added from outside: each module here is one entry point."""
