"""`prompt_vars`: filling `{{name}}` in a prompt (specification 000 § 1).

A variable is two opening braces, a name, two closing braces; spaces and tabs around the
name are allowed. A name is a key of the case's `prompt_vars`, whatever characters but braces
it has. Any other name that begins with a letter or an underscore and goes on with letters,
digits, `_`, `.` and `-` is a variable without a value. Everything else - single braces, JSON,
LaTeX, `{{ 1 }}` - is text and stays exactly as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_BRACES = re.compile(r"\{\{([^{}]*)\}\}")
_NAME = re.compile(r"[^\W\d][\w.-]*")


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """A prompt with its variables filled in, and the names that did not fit."""

    text: str
    missing: tuple[str, ...]
    """Variables in the prompt without a value; their text stays."""
    unused: tuple[str, ...]
    """Names of values that the prompt has no variable for."""


def fill(prompt: str, values: Mapping[str, str]) -> FilledPrompt:
    """Replace each variable by its value, in one pass: a value that reads `{{x}}` stays text."""
    used_names: dict[str, None] = {}

    def value(match: re.Match[str]) -> str:
        name = match[1] if match[1] in values else match[1].strip(" \t")
        if name in values or _NAME.fullmatch(name):
            used_names[name] = None
        return values.get(name, match[0])

    text = _BRACES.sub(value, prompt) if "{{" in prompt else prompt
    return FilledPrompt(
        text,
        missing=tuple(name for name in used_names if name not in values),
        unused=tuple(name for name in values if name not in used_names),
    )
