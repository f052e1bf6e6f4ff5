"""The program's frame: its list of commands, what they share, how errors end."""
