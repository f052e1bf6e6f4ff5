"""Documents for people and machines, made of what the log holds."""
