"""Configuration files: read, checked with file and line, and recorded with the run."""
