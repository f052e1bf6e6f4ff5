"""Shell commands: specification 004, judged by real parsers. Nothing here runs a command."""
