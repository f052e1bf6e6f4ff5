"""A judge's reply to prompts of one's own: one object with a score and a reason, or an error."""

from __future__ import annotations

import pytest

from failproof_es.abstraction.implementation.interface_tasks import _parse_foreign_verdict
from tests.every import every


def test_a_score_and_a_reason_are_a_verdict() -> None:
    reply = 'I think: {"score": 0.5, "reason": "half \\ud83d\\ude00"}'
    assert _parse_foreign_verdict(reply) == (0.5, "half \N{GRINNING FACE}")


@every(
    "reply",
    [
        "fine",
        '{"score": 1}',
        '{"score": 1, "reason": " "}',
        '{"score": 2, "reason": "x"}',
        '{"score": true, "reason": "x"}',
        '{"score": "1", "reason": "x"}',
        '{"score": 1, "reason": "x"} {"score": 0, "reason": "x"}',
        '{"score": 1, "reason": "\\ud83d"}',
    ],
)
def test_anything_else_is_an_error_of_the_judge(reply: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        _parse_foreign_verdict(reply)
