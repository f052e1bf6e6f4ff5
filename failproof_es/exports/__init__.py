"""Exports: runs in the formats of other tools. What a format cannot hold is listed, not lost."""
