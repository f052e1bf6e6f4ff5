"""The prompts for the model under test and the judge: templates, filled in one pass.

Placeholders inside a question or an answer stay text, and neither can contain the delimiter, which
is derived from the SHA-256 of all texts in the template.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache, partial
from random import Random

from failproof_es.dialects.kit.judging.rubric import draw_order
from failproof_es.dialects.kit.templates import delimiter, fill
from failproof_es.dialects.kit.templates import shipped as shipped_template

GENERATION_NAMES = ("question",)
JUDGE_NAMES = (
    *("question", "most_expected", "good_answer", "pass_option", "incorrect_direction"),
    *("answer", "delimiter"),
)
"""Placeholders of a judge's template; `answer` and `delimiter` are required."""


_DESCRIPTION = re.compile(rf"(---[^\n]*\n\{{\{{(?:{'|'.join(JUDGE_NAMES[1:5])})\}}\}}\n)")
_DESCRIPTIONS = re.compile(rf"(?:{_DESCRIPTION.pattern}){{4}}")

shipped = partial(shipped_template, __package__)
"""Returns the text of the default template `generation` or `judge`."""


@cache
def digest(name: str) -> str:
    """Twelve hexadecimal digits of the SHA-256 of a shipped template."""
    return hashlib.sha256(shipped(name).encode()).hexdigest()[:12]


def generation_prompt(question: str, template: str | None = None) -> str:
    """The one message to the model under test; without a `template`, by the shipped one."""
    return fill(template or shipped("generation"), {"question": question})


def judge_prompt(expectation: Mapping[str, str], answer: str, template: str | None = None) -> str:
    """The one message to a judge; without a `template`, by the shipped one.

    `expectation` holds `question`, `most_expected`, `good_answer`, `pass_option` and
    `incorrect_direction`; `answer` is the text to grade.
    """
    values = _judge_texts(expectation, answer)
    return fill(template or shipped("judge"), {**values, "delimiter": delimiter(*values.values())})


def rephrased_prompt(template: str | None) -> str | None:
    """The shipped template for a judge in other words; `None` for a template of the user's."""
    return shipped("judge_rephrased") if template is None else None


def reordered_prompt(template: str | None, draw: Random) -> str | None:
    """The template for a judge with the four descriptions in another, drawn order.

    `None` if they do not stand one after the other, each below a heading of its own.
    """
    text = template or shipped("judge")
    found = _DESCRIPTIONS.search(text)
    if found is None:
        return None
    blocks = _DESCRIPTION.findall(found[0])
    order = draw_order(len(blocks), draw)
    reordered = "".join(blocks[at] for at in order)
    return text[: found.start()] + reordered + text[found.end() :]


def mark(expectation: Mapping[str, str], answer: str) -> str:
    """The delimiter of the judge's question, which the verdict on this answer must repeat.

    `expectation` has the keys that `judge_prompt` needs.
    """
    return delimiter(*_judge_texts(expectation, answer).values())


def case_text(expectation: Mapping[str, str]) -> str:
    """The question and the four descriptions, on separate lines, without the answer.

    `expectation` has the keys that `judge_prompt` needs.
    """
    return "\n".join(expectation[name] for name in JUDGE_NAMES[:5])


def _judge_texts(expectation: Mapping[str, str], answer: str) -> dict[str, str]:
    return {name: expectation[name] for name in JUDGE_NAMES[:5]} | {"answer": answer}
