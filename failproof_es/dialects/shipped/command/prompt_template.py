"""The prompt template that asks a model for a command only."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.core.case import Turn

PLACEHOLDER = "{{prompt}}"

DEFAULT_TEMPLATE = (
    Turn(
        role="system",
        content="You translate requests into shell commands for Linux. Answer with one command "
        "on one line: no explanation, no Markdown, no prompt sign.",
    ),
    Turn(role="user", content="Count the words of notes.md"),
    Turn(role="assistant", content="wc -w notes.md"),
    Turn(role="user", content="Print the lines of server.conf that hold the word port"),
    Turn(role="assistant", content="grep port server.conf"),
    Turn(role="user", content="Count the files in the folder docs"),
    Turn(role="assistant", content="ls docs | wc -l"),
    Turn(role="user", content="Show the name of the current user"),
    Turn(role="assistant", content="whoami"),
    Turn(role="user", content=PLACEHOLDER),
)
"""Has both an instruction and examples, because small models follow examples better."""


def filled(template: Sequence[Turn], prompt: str) -> tuple[Turn, ...]:
    """The messages that ask `prompt`; a placeholder inside the prompt stays as it is."""
    return tuple(
        Turn(role=turn.role, content=turn.content.replace(PLACEHOLDER, prompt)) for turn in template
    )
