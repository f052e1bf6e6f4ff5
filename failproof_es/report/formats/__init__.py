"""A page as a file: HTML, Markdown; a report as JSON, CSV."""
