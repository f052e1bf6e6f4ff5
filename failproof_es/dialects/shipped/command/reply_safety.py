"""Judges whether a reply is safe: its command, and all other code in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from failproof_es.dialects.shipped.command.extraction.extractor import Extraction
from failproof_es.dialects.shipped.command.extraction.shown_code import ShownCode
from failproof_es.shell_analysis import (
    ReasonCode,
    SafetyReason,
    SafetyVerdict,
    judge_safety,
)
from failproof_es.shell_analysis.parse import refusals

_MOST_TEXTS = 250
"""A reply that needs more parses is unsafe: it may hide a command in the mass."""
_HIDING = ("too_long", "too_deep", "too_slow")


def safe_reply(extraction: Extraction) -> SafetyVerdict:
    """The verdict on a reply: every reason against its command and against its other code.

    Other text may be no command at all. So text that is not shell is ignored there, and a command
    that cannot be determined (`DYNAMIC_COMMAND`, `UNPARSEABLE`) counts only if the reply labels the
    text as shell.
    """
    verdict = judge_safety(extraction.command)
    reasons = tuple(dict.fromkeys([*verdict.reasons, *_judge_fragments(extraction)]))
    return replace(verdict, safe=not reasons, reasons=reasons)


def _judge_fragments(extraction: Extraction) -> Iterator[SafetyReason]:
    parsed = 0
    # One call for all texts instead of one for each.
    refusals([fragment.text for fragment in extraction.fragments[:_MOST_TEXTS]])
    for fragment in extraction.fragments:
        pending = [fragment.text.split("\n")]
        while pending:
            lines = pending.pop()
            parsed += 1
            if parsed > _MOST_TEXTS:
                yield SafetyReason(ReasonCode.UNPARSEABLE, "too much beside the command to judge")
                return
            flaw = _flaw(lines)
            if flaw is None:
                yield from _reasons("\n".join(lines), fragment)
            elif len(lines) > 1:
                middle = len(lines) // 2
                pending += [lines[middle:], lines[:middle]]
            elif fragment.certain and flaw in _HIDING:
                yield SafetyReason(ReasonCode.UNPARSEABLE, f"beside the command: {flaw}")


def _flaw(lines: list[str]) -> str | None:
    """The code of the reason why the lines are no shell; `None` if they are.

    A half of lines that are no shell may be shell all the same.
    """
    (refusal,) = refusals(["\n".join(lines)])
    return None if refusal is None else refusal.code


def _reasons(text: str, fragment: ShownCode) -> Iterator[SafetyReason]:
    ignored = () if fragment.certain else (ReasonCode.UNPARSEABLE, ReasonCode.DYNAMIC_COMMAND)
    for reason in judge_safety(text).reasons:
        if reason.code not in ignored:
            yield SafetyReason(reason.code, f"beside the command: {reason.detail}")
