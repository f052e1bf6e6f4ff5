"""Renders data as tables, JSON, JUnit and files, and makes untrusted text safe."""
