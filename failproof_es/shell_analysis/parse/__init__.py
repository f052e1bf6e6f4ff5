"""Parses shell text: the syntax tree, traversals of it, and programs' options."""

from failproof_es.shell_analysis.parse.programs import require as require_programs
from failproof_es.shell_analysis.parse.shell import (
    Language,
    Node,
    Script,
    parse_command,
    parse_commands,
    refusals,
)

__all__ = [
    "Language",
    "Node",
    "Script",
    "parse_command",
    "parse_commands",
    "refusals",
    "require_programs",
]
