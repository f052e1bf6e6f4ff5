"""Shell commands: specification 004, judged by real parsers. Nothing here runs a command.

`equivalent`, `posix` and `safe` are the three checkers; each verdict names its versions.
"""

from failproof_es.dialects.command.dialect import Command
from failproof_es.dialects.command.equivalence import equivalent
from failproof_es.dialects.command.posix import posix
from failproof_es.dialects.command.safety import safe

__all__ = ["Command", "equivalent", "posix", "safe"]
