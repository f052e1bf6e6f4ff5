"""Which files a command names, and what stands under a path."""
