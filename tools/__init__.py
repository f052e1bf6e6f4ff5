"""Programs for work on this repository: they make the docs, and measure how they read."""
