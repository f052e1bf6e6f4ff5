"""How fast the console answers over a large log, and what its viewers cost a run."""
