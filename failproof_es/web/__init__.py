"""HTTP requests, and reading replies within bounds of size, memory and time."""
