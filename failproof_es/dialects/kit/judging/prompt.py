"""Builds a judge's prompt: the transcript is delimited, so it can't pose as instructions.

The delimiter is derived from the SHA-256 of all untrusted texts, so none of them can contain it.
Every heading of ours has it, and the judge has to repeat it: an object without it was not written
for this transcript.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from failproof_es.core.case import Turn
from failproof_es.dialects.kit import templates
from failproof_es.dialects.kit.judging.checklist import Item
from failproof_es.dialects.kit.judging.quotation import on_one_line
from failproof_es.dialects.kit.templates import delimiter, fill

NAMES = ("items", "transcript", "delimiter", "answers")
REQUIRED = ("items", "transcript", "delimiter")
_MARKED = " (states an absence)"
_ABSENCES = """\

Items marked "(states an absence)" say that something is not there, which no words can show. \
They are asked the other way round: look for words of the model under test that break the item. \
If there are any, say "not_met" and quote them; if there are none, say "met" with "" as the quote. \
What is said below of other items does not hold for these."""
_ANSWER = '{"quote": "<exact words>", "verdict": "<verdict>"}'
"""The quotation first: a judge should find the words before it decides what they show."""
Passages = Sequence["Passage"]


@dataclass(frozen=True, slots=True)
class Passage:
    """One turn of a transcript as the judge is shown it; `judged` if the model under test spoke.

    `calls` are the recorded tool calls. Each has its own heading with the delimiter, whereas a call
    that is only typed remains part of the text.
    """

    speaker: str
    text: str
    judged: bool = False
    calls: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        """The text of the turn, then each of its recorded calls."""
        return (self.text, *self.calls)


@cache
def shipped() -> str:
    """The default template of the question to a judge."""
    return templates.shipped(__package__, "judge")


def token(items: Sequence[Item], transcript: Passages) -> str:
    """The delimiter for this checklist and this transcript; deterministic.

    It marks the headings of the judge's question, and a verdict must repeat it.
    """
    return delimiter(
        *(item.text for item in items), *(part for passage in transcript for part in passage.parts)
    )


def ask(items: Sequence[Item], transcript: Passages, template: str) -> tuple[Turn, ...]:
    """The question to a judge, as one user turn; `template` holds the placeholders of `NAMES`."""
    mark = token(items, transcript)
    values = {
        "delimiter": mark,
        "items": _format_items(items),
        "answers": ", ".join(f'"{item.key}": {_ANSWER}' for item in items),
        "transcript": "\n".join(
            part
            for number, passage in enumerate(transcript, 1)
            for part in _passage_parts(f"--- {mark} turn {number}: {passage.speaker}", passage)
        ),
    }
    return (Turn(role="user", content=fill(template, values)),)


def _passage_parts(heading: str, passage: Passage) -> Iterator[str]:
    if passage.text or not passage.calls:
        yield f"{heading} ---\n{passage.text}"
    for call in passage.calls:
        yield f"{heading}, tool call ---\n{call}"


def reply_schema(items: Sequence[Item], transcript: Passages) -> dict[str, Any]:
    """The JSON Schema of a valid reply to the question, for servers that can enforce one."""
    return _object(
        {
            "transcript": {"type": "string", "enum": [token(items, transcript)]},
            "items": _object({item.key: _answer_schema(item) for item in items}),
        }
    )


def _answer_schema(item: Item) -> dict[str, Any]:
    verdicts = [item.words.passes, item.words.fails]
    return _object({"quote": {"type": "string"}, "verdict": {"type": "string", "enum": verdicts}})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with all of these properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _format_items(items: Sequence[Item]) -> str:
    lines = [
        f"{item.key}{_MARKED if item.absence else ''}: {on_one_line(item.text)}" for item in items
    ]
    return "\n".join([*lines, *([_ABSENCES] if any(item.absence for item in items) else [])])
