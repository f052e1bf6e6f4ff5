"""Half characters in replies: joined with the half that follows, or replaced; never an error."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.models import Answer, ModelError, provider_type
from failproof_es.models.http_reply import HttpReply
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.replies.half_characters import (
    PieceJoiner,
    join_all_halves,
    join_halves,
    read_piece,
    read_whole,
)
from tests.chat_completions import CHAT_COMPLETIONS
from tests.every import every

HIGH, LOW = r"\ud83d", r"\ude00"
SMILE = "\U0001f600"
PROVIDERS = (*CHAT_COMPLETIONS, "anthropic", "gemini", "vertex", "ollama")
any_text = st.text(alphabet=st.characters(codec=None), max_size=30)


def whole(provider: str, text: str) -> bytes:
    """A good reply, its text as it is written between the quotation marks of JSON."""
    if provider == "anthropic":
        return b'{"content":[{"type":"text","text":"%b"}],"stop_reason":"end_turn"}' % text.encode()
    if provider in ("gemini", "vertex"):
        part = b'{"candidates":[{"content":{"parts":[{"text":"%b"}]},"finishReason":"STOP"}]}'
        return part % text.encode()
    if provider == "ollama":
        return b'{"message":{"content":"%b"},"done":true,"done_reason":"stop"}' % text.encode()
    return b'{"choices":[{"message":{"content":"%b"},"finish_reason":"stop"}]}' % text.encode()


def streamed(provider: str, *texts: str) -> tuple[str, bytes]:
    def sse(*events: str) -> tuple[str, bytes]:
        return "text/event-stream", b"".join(b"data: %b\n\n" % event.encode() for event in events)

    if provider == "anthropic":
        return sse(
            '{"type":"message_start","message":{"content":[]}}',
            '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
            *(
                '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"'
                f'{text}"}}}}'
                for text in texts
            ),
            '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
            '{"type":"message_stop"}',
        )
    if provider in ("gemini", "vertex"):
        return sse(
            *(f'{{"candidates":[{{"content":{{"parts":[{{"text":"{t}"}}]}}}}]}}' for t in texts),
            '{"candidates":[{"finishReason":"STOP"}]}',
        )
    if provider == "ollama":
        lines = [f'{{"message":{{"content":"{text}"}}}}' for text in texts]
        last = '{"done":true,"done_reason":"stop"}'
        return "application/x-ndjson", "".join(f"{line}\n" for line in [*lines, last]).encode()
    return sse(
        *(f'{{"choices":[{{"delta":{{"content":"{text}"}}}}]}}' for text in texts),
        '{"choices":[{"delta":{},"finish_reason":"stop"}]}',
    )


def read(
    provider: str, content_type: str, body: bytes, status: int = 200, size: int | None = None
) -> Answer:
    kind = provider_type(provider)
    assert isinstance(kind, HttpProviderType)
    headers = {"content-type": content_type}
    stream = kind.implementation().stream_of(headers) if status == 200 else None
    if stream is not None:
        size = size or len(body)
        for at in range(0, len(body), size):
            stream.feed(body[at : at + size])
    reply = HttpReply(status, headers, body, 1.0, datetime.now(UTC))
    return kind.implementation().read(reply, stream)


@every("provider", PROVIDERS)
@every(
    ("written", "text"),
    [
        (HIGH + LOW, SMILE),
        (f"a{HIGH}b", "a\ufffdb"),
        (f"{LOW}", "\ufffd"),
        (f"{LOW}{HIGH}", "\ufffd\ufffd"),
        (f"{HIGH}{HIGH}{LOW}", "\ufffd" + SMILE),
        (HIGH.upper().replace("\\U", "\\u"), "\ufffd"),
        (rf"\\ud83d{HIGH}", "\\ud83d\ufffd"),
    ],
)
def test_a_half_character_costs_no_answer(provider: str, written: str, text: str) -> None:
    answer = read(provider, "application/json", whole(provider, written))
    assert answer.text == text
    assert answer.body == whole(provider, written), "the bytes are kept as they came"


@every("provider", PROVIDERS)
@every("size", [None, 1, 7])
def test_two_pieces_of_a_stream_may_share_a_character(provider: str, size: int | None) -> None:
    pieces = ("x", f"a{HIGH}", f"{LOW}b", SMILE, HIGH, "c")
    answer = read(provider, *streamed(provider, *pieces), size=size)
    assert answer.text == f"xa{SMILE}b{SMILE}\ufffdc"
    answer.text.encode()


def test_a_half_in_a_call_or_in_a_name_costs_no_answer() -> None:
    call = rf'{{"id":"{HIGH}","function":{{"name":"s{HIGH}","arguments":"{{\"q\":\"{LOW}\"}}"}}}}'
    body = f'{{"model":"m{HIGH}","choices":[{{"message":{{"tool_calls":[{call}]}}}}]}}'
    answer = read("openai", "application/json", body.encode())
    assert [each.name for each in answer.tool_calls] == ["s\ufffd"]
    assert answer.model == "m\ufffd"
    orjson.dumps(answer.tool_calls[0].model_dump())


@every("provider", ["anthropic", "gemini", "ollama"])
def test_a_half_in_the_input_of_a_call_costs_no_answer(provider: str) -> None:
    arguments = f'{{"q":"{HIGH}","{LOW}":[{{"r":"{HIGH}"}}]}}'
    bodies = {
        "anthropic": '{"content":[{"type":"tool_use","name":"s","input":ARGUMENTS}]}',
        "gemini": '{"candidates":[{"finishReason":"STOP","content":{"parts":[{"functionCall":'
        '{"name":"s","args":ARGUMENTS}}]}}]}',
        "ollama": '{"done":true,"message":{"tool_calls":[{"function":{"name":"s","arguments":'
        "ARGUMENTS}}]}}",
    }
    body = bodies[provider].replace("ARGUMENTS", arguments).encode()
    [call] = read(provider, "application/json", body).tool_calls
    assert orjson.loads(call.arguments) == {"q": "\ufffd", "\ufffd": [{"r": "\ufffd"}]}


@every("provider", PROVIDERS)
@every("status", [200, 400, 429, 500])
def test_a_half_in_an_error_is_an_error_of_its_own_kind(provider: str, status: int) -> None:
    body = f'{{"error":{{"message":"too {HIGH} many","code":"rate_limit_exceeded"}}}}'.encode()
    with pytest.raises(ModelError) as raised:
        read(provider, "application/json", body, status)
    assert raised.value.kind != "malformed_response"
    if status == 429:
        assert "too \ufffd many" in raised.value.message


@given(any_text)
def test_joined_text_can_be_written_and_whole_text_stays(text: str) -> None:
    joined = join_halves(text)
    joined.encode()
    assert join_halves(joined) == joined
    if not any("\ud800" <= sign <= "\udfff" for sign in text):
        assert joined == text


@given(st.lists(any_text, max_size=6))
def test_pieces_join_to_what_the_whole_text_joins_to(pieces: list[str]) -> None:
    joiner = PieceJoiner()
    passed_on = [joiner.feed(piece) for piece in pieces]
    for piece in passed_on:
        piece.encode()
    assert "".join(passed_on) + joiner.end() == join_halves("".join(pieces))


json_values: st.SearchStrategy[Any] = st.recursive(
    any_text | st.integers(-9, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_every_text_of_a_document_can_be_written_afterwards(value: Any) -> None:
    orjson.dumps(join_all_halves(value))


@every(
    "no_json", [rf'{{"a": NAN, "b": "{HIGH}"}}', rf'["{HIGH}"', HIGH, "", "[NaN", "[NaN,]", "NaNs"]
)
def test_a_half_character_makes_no_json_of_what_is_none(no_json: str) -> None:
    for reader in (read_piece, read_whole):
        with pytest.raises(ValueError):
            reader(no_json)


@every("number", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_of_json_is_read_as_one(number: str) -> None:
    for reader in (read_piece, read_whole):
        document = reader(f'{{"a": {number}, "b": "{HIGH}{LOW}", "c": "NaN"}}')
        assert repr(document["a"]) == repr(float(number))
        assert (join_halves(document["b"]), document["c"]) == (SMILE, "NaN")


def test_json_too_deep_for_the_second_reader_is_no_json() -> None:
    with pytest.raises(ValueError):
        read_whole("[" * 100_000 + f'"{HIGH}"' + "]" * 100_000)
