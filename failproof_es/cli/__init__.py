"""The command line: one module per noun. `main` is the click command, `entry.main` the program."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`main`, loaded at its first use: the program handles Ctrl-C before it loads anything."""
    if name != "main":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from failproof_es.cli.app.command_table import main

    return main
