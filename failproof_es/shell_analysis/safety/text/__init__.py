"""Text in a command: words, marks for what is unknown, escapes, code."""
