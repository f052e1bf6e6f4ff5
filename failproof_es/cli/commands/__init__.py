"""The commands about runs, one module each."""
