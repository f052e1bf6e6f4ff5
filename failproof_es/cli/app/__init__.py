"""The command line's framework: the list of commands, shared options, error handling."""
