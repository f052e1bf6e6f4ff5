"""A line of code has a token that is neither a comment nor a docstring."""

from __future__ import annotations

from tools.code_lines import python_lines, sql_lines


def test_blank_lines_comments_and_docstrings_are_no_code() -> None:
    source = '''"""A docstring,
on two lines."""

# a comment
NAME = """a text,
on two lines"""
"""The docstring of a name."""


def function() -> int:  # a comment behind code
    """A docstring."""
    return (
        1
    )
'''
    assert python_lines(source) == 2 + 1 + 3


def test_blank_lines_and_comments_are_no_sql() -> None:
    assert sql_lines("-- a comment\n\nSELECT 1 -- one\n  -- another\nFROM a;\n") == 2
