"""The evaluator template: the question around a stored prompt, which stays unaltered."""

from __future__ import annotations

from importlib.resources import files

from failproof_es.dialects.kit.templates import delimiter, fill

PROMPT = "{{prompt}}"
DELIMITER = "{{delimiter}}"


def shipped() -> str:
    """The default template of the question, for a configuration without its own."""
    return files(__package__).joinpath("evaluator.txt").read_text("utf-8")


def defects(template: str) -> list[str]:
    """The defects of a template, as predicates of a sentence; empty if it is usable."""
    times = template.count(PROMPT)
    if times != 1:
        return [f"must hold {PROMPT} once, holds it {times} times"]
    before, _, after = template.partition(PROMPT)
    if DELIMITER not in before or DELIMITER not in after:
        return [f"must hold {DELIMITER} before {PROMPT} and after it"]
    return []


def embed(template: str, prompt: str) -> str:
    """The question: the template with the prompt in it, between delimiters.

    Placeholders inside the prompt stay text.
    """
    return fill(template, {"prompt": prompt, "delimiter": delimiter(prompt)})
