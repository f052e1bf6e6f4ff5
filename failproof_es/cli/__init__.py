"""The command line: one module per noun. `main` is the program `failproof-es`."""

from failproof_es.cli.app.command_table import main

__all__ = ["main"]
