"""Finds out whether standard input gives the confirmation that a destructive program asks for."""

from __future__ import annotations

import re

from failproof_es.shell_analysis.safety.commands import ShellCommand

_CONSENT = re.compile(r"^\s*(y|yes|j|ja|o|oui|s|si|a|all|1)\b", re.IGNORECASE | re.MULTILINE)


def consents_in_advance(command: ShellCommand) -> bool:
    """Whether the command's standard input consents, so that nobody is asked: `yes | rm -i *`."""
    if command.feed.text is not None:
        return bool(_CONSENT.search(command.feed.text))
    upstream = command.feed.upstream
    return any(source.name == "yes" and _consents(source) for source in upstream)


def _consents(command: ShellCommand) -> bool:
    return not command.operands or bool(_CONSENT.search(" ".join(command.operands)))
