"""Writes a page as HTML or Markdown, and a report as JSON or CSV."""
