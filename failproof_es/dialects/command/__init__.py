"""Shell commands: specification 004, judged by real parsers. Nothing here runs a command.

What can be said of a command's text (`failproof_es.shell_analysis`) knows nothing of this.
"""

from failproof_es.dialects.command.dialect import Command

__all__ = ["Command"]
