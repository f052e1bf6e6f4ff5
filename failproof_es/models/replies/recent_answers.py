"""The latest answers, by the bytes that they were read from.

The process that drives a run reads each reply twice: as it arrives, and when the finished
evaluation is checked. Readers are pure, so the second reading of the same bytes is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping

from failproof_es.models.protocol import Answer

_MOST_ANSWERS = 1_000
_MOST_BYTES = 1 << 14
"""Longer replies are read again."""


class RecentAnswers:
    """Answers in unstreamed replies, each kept until it is taken, and never more than 16 MB."""

    def __init__(self) -> None:
        self._answers: dict[tuple[type, bytes], Answer] = {}

    def keep(self, reader: type, answer: Answer) -> None:
        """Keep an answer that `reader` read in a whole reply."""
        if len(answer.body) <= _MOST_BYTES:
            if len(self._answers) >= _MOST_ANSWERS:
                self._answers.clear()
            self._answers[reader, answer.body] = answer

    def take(
        self, reader: type, status: int, headers: Mapping[str, str], body: bytes
    ) -> Answer | None:
        """Remove and return the answer that `reader` read in this reply; `None` without one."""
        answer = self._answers.pop((reader, body), None)
        is_same = answer is not None and answer.status == status and answer.headers == headers
        return answer if is_same else None


RECENT_ANSWERS = RecentAnswers()
