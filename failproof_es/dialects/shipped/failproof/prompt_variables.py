"""`prompt_vars`: filling `{{name}}` in a prompt (specification 000 § 1).

A variable is two opening braces, a name, two closing braces; spaces and tabs around the
name are allowed. A name begins with a letter or an underscore and goes on with letters,
digits, `_`, `.` and `-`. Everything else - single braces, JSON, LaTeX, `{{ 1 }}` - is text
and stays exactly as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_VARIABLE = re.compile(r"\{\{[ \t]*([^\W\d][\w.-]*)[ \t]*\}\}")


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
        name = match.group(1)
        used_names[name] = None
        return values.get(name, match.group(0))

    text = _VARIABLE.sub(value, prompt) if "{{" in prompt else prompt
    return FilledPrompt(
        text,
        missing=tuple(name for name in used_names if name not in values),
        unused=tuple(name for name in values if name not in used_names),
    )
