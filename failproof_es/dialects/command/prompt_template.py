"""How a model is asked for a command and nothing but a command."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.case import Turn

PLACEHOLDER = "{{prompt}}"

DEFAULT_TEMPLATE = (
    Turn(
        role="system",
        content="You translate requests into shell commands for Linux. Answer with one command "
        "on one line: no explanation, no Markdown, no prompt sign.",
    ),
    Turn(role="user", content="Show the name of the current user"),
    Turn(role="assistant", content="whoami"),
    Turn(role="user", content="Count the lines of all Python files below the folder src"),
    Turn(role="assistant", content="find src -name '*.py' -exec cat {} + | wc -l"),
    Turn(role="user", content=PLACEHOLDER),
)
"""Small models follow examples better than instructions, so it holds both."""


def filled(template: Sequence[Turn], prompt: str) -> tuple[Turn, ...]:
    """The messages that ask `prompt`; a prompt that holds the placeholder stays as it is."""
    return tuple(
        Turn(role=turn.role, content=turn.content.replace(PLACEHOLDER, prompt)) for turn in template
    )
