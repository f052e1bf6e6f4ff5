"""The evaluator template: the question that a stored prompt is put into, unaltered.

The delimiter is made of the prompt's own SHA-256, so nobody can write a prompt that holds
it, and the same prompt is always asked the same way.
"""

from __future__ import annotations

import hashlib
import re
from importlib.resources import files
from itertools import count

PROMPT = "{{prompt}}"
DELIMITER = "{{delimiter}}"
_PLACEHOLDER = re.compile(re.escape(PROMPT) + "|" + re.escape(DELIMITER))
_DIGITS = 32


def shipped() -> str:
    """The template that is used unless the configuration brings its own."""
    return files(__package__).joinpath("evaluator.txt").read_text("utf-8")


def defects(template: str) -> list[str]:
    """What keeps a template from being used; empty when nothing does."""
    times = template.count(PROMPT)
    if times != 1:
        return [f"must hold {PROMPT} once, holds it {times} times"]
    before, _, after = template.partition(PROMPT)
    if DELIMITER not in before or DELIMITER not in after:
        return [f"must hold {DELIMITER} before {PROMPT} and after it"]
    return []


def delimiter(prompt: str) -> str:
    """32 hexadecimal digits that don't occur in the prompt, always the same ones."""
    content = prompt.encode("utf-8")
    for attempt in count():
        digits = hashlib.sha256(content + b"\0" * attempt).hexdigest()[:_DIGITS]
        if digits not in prompt:
            break
    return digits


def embed(template: str, prompt: str) -> str:
    """The template with the prompt in its place, in one pass: a prompt is never filled in."""
    values = {PROMPT: prompt, DELIMITER: delimiter(prompt)}
    return _PLACEHOLDER.sub(lambda match: values[match[0]], template)
