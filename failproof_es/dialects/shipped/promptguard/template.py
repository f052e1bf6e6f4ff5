"""The evaluator template: the question that a stored prompt is put into, unaltered."""

from __future__ import annotations

from importlib.resources import files

from failproof_es.dialects.kit.templates import delimiter, fill

PROMPT = "{{prompt}}"
DELIMITER = "{{delimiter}}"


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


def embed(template: str, prompt: str) -> str:
    """The template with the prompt in its place, in one pass: a prompt is never filled in."""
    return fill(template, {"prompt": prompt, "delimiter": delimiter(prompt)})
