"""A reply whose bytes were just read is not parsed again; any other one is."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

import pytest

from failproof_es.events import ResponseReceived
from failproof_es.models.http_reply import HttpReply
from failproof_es.models.protocol import Answer
from failproof_es.models.provider_type import provider_type
from failproof_es.models.providers.anthropic.provider import AnthropicProvider
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.models.replies import recent_answers
from failproof_es.models.replies.parse_check import find_parse_mismatch
from failproof_es.models.replies.recent_answers import RECENT_ANSWERS, RecentAnswers

HEADERS = {"content-type": "application/json"}
BODY = b'{"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}'
ANSWER = OpenAIProvider.read(HttpReply(200, HEADERS, BODY, 1.0, datetime.now(UTC)), None)


def recorded(text: str) -> ResponseReceived:
    return ResponseReceived(
        originator_id=UUID(int=1), originator_version=2, run_id=UUID(int=2),
        timestamp=datetime.now(UTC), prompt_id=UUID(int=3), model_key="m", repetition=1,
        purpose="target", turn=0, attempt=1, status=200, headers=HEADERS, body=BODY.decode(),
        text=text, finish_reason="stop", latency_ms=1.0,
    )  # fmt: skip


def test_the_answer_in_the_same_bytes_is_looked_up_once() -> None:
    kept = provider_type("openai").reparse(recorded("hello"))
    RECENT_ANSWERS.keep(OpenAIProvider, ANSWER)
    assert provider_type("openai").reparse(recorded("hello")) is ANSWER
    again = provider_type("openai").reparse(recorded("hello"))
    assert again is not ANSWER and again == kept


def test_a_recorded_text_that_is_not_the_looked_up_answer_is_a_mismatch() -> None:
    RECENT_ANSWERS.keep(OpenAIProvider, ANSWER)
    assert find_parse_mismatch("openai", recorded("hello")) is None
    RECENT_ANSWERS.keep(OpenAIProvider, ANSWER)
    mismatch = find_parse_mismatch("openai", recorded("hell"))
    assert mismatch is not None and mismatch.field == "text"


@pytest.mark.parametrize(
    "other",
    [
        (AnthropicProvider, 200, HEADERS, BODY),
        (OpenAIProvider, 201, HEADERS, BODY),
        (OpenAIProvider, 200, {**HEADERS, "x-request-id": "1"}, BODY),
        (OpenAIProvider, 200, HEADERS, BODY + b" "),
    ],
)
def test_another_reply_is_read_again(other: tuple[type, int, dict[str, str], bytes]) -> None:
    answers = RecentAnswers()
    answers.keep(OpenAIProvider, ANSWER)
    assert answers.take(*other) is None


def test_few_and_short_answers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_answers, "_MOST_ANSWERS", 2)
    monkeypatch.setattr(recent_answers, "_MOST_BYTES", 2)
    answers = RecentAnswers()
    for body in (b"1", b"2", b"3", b"333"):
        answers.keep(OpenAIProvider, Answer(200, {}, body, "", 1.0))
    there = [answers.take(OpenAIProvider, 200, {}, body) for body in (b"1", b"2", b"3", b"333")]
    assert [answer is not None for answer in there] == [False, False, True, False]
