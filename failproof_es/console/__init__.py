"""The audit console: read-only web pages, in which every number leads back to its events."""
