"""How many requests a server and a run may have at once, and when none."""
