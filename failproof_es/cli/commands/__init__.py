"""One module for each command that is about runs."""
