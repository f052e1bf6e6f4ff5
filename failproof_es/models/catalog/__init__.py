"""Which models there are, what they cost, and which package they come from."""
