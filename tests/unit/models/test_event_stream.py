"""Server-sent events and streamed completions: the same whole, in whatever pieces they come."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.models.http_reply import InvalidReply
from failproof_es.models.providers.openai.stream import StreamedReply
from failproof_es.models.replies.event_stream import EventStream
from tests.every import every
from tests.machine import is_computed_within

KEEP_ALIVE = b": ping\n\n"


def events(*chunks: Any, end: bytes = b"\n\n") -> bytes:
    return b"".join(b"data: " + orjson.dumps(chunk) + end for chunk in chunks)


def delta(content: str | None, reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": reason}
    return {"model": "m", "id": "c1", "choices": [choice], **more}


DONE = b"data: [DONE]\n\n"
WHOLE = (
    b"\xef\xbb\xbf"
    + events(delta(""), delta("naïve \U0001f600"))
    + KEEP_ALIVE
    + events(delta(" done"), end=b"\r\n\r\n")
    + events(delta(None, "stop"), end=b"\r\r")
    + events({"model": "m", "choices": [], "usage": {"prompt_tokens": 3}})
    + DONE
)


def fed(*pieces: bytes) -> tuple[StreamedReply, str]:
    stream = StreamedReply()
    return stream, "".join(stream.feed(piece) for piece in pieces)


@given(st.lists(st.integers(min_value=0, max_value=len(WHOLE)), max_size=40))
def test_any_cut_into_pieces_gives_the_same_reply(cuts: list[int]) -> None:
    bounds = [0, *sorted(cuts), len(WHOLE)]
    stream, text = fed(*(WHOLE[a:b] for a, b in itertools.pairwise(bounds)))
    assert text == "naïve \U0001f600 done"
    assert stream.document() == {
        "model": "m",
        "id": "c1",
        "usage": {"prompt_tokens": 3},
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
    }


def test_byte_by_byte_is_the_finest_cut() -> None:
    _, text = fed(*(bytes([byte]) for byte in WHOLE))
    assert text == "naïve \U0001f600 done"


@every(
    ("wire", "data"),
    [
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data:a\n\ndata:  b\n\n", ["a", " b"]),
        (b"event: x\nid: 1\nretry: 5\ndata: a\n\n", ["a"]),
        (b"data\n\n", [""]),
        (b"event: x\n\n", []),
        (b"data: a\r\ndata: b\r\n\r\n", ["a\nb"]),
        (b"data: a\r\n\ndata: b\r\r\n", ["a", "b"]),
        (b"database: a\n\n", []),
        (b"data: a\x0b\xe2\x80\xa8b\n\n", ["a\x0b\u2028b"]),
        (b"data: never ended", []),
        (b"data: never ended\n", []),
    ],
)
def test_events_are_read_as_the_standard_says(wire: bytes, data: list[str]) -> None:
    assert list(EventStream().feed(wire)) == data
    stream = EventStream()
    assert [each for byte in wire for each in stream.feed(bytes([byte]))] == data


def test_a_long_line_in_small_pieces_holds_nobody_up() -> None:
    def read() -> None:
        stream = EventStream()
        for piece in (b"data: ", *[b"a" * 64] * 16_384, b"\n\n"):
            for data in stream.feed(piece):
                assert data == "a" * 2**20

    assert is_computed_within(2.0, read)


def test_a_done_that_no_blank_line_follows_is_still_the_servers_word() -> None:
    stream, _ = fed(events(delta("hello")) + b"data: [DONE]")
    assert stream.document()["choices"][0]["message"]["content"] == "hello"


def test_a_stream_with_a_finish_reason_in_every_chunk_is_whole_when_it_is_done() -> None:
    every_chunk = events(delta("a", "stop"), delta("b", "stop"), delta("c", "stop"))
    stream, text = fed(every_chunk, DONE)
    assert text == "abc"
    assert stream.document()["choices"][0]["finish_reason"] == "stop"
    with pytest.raises(InvalidReply, match="ended before the reply did"):
        fed(every_chunk)[0].document()


@every("numbers", [(0, 0, 1), (None, None, None)])
def test_calls_without_a_number_are_told_apart_by_their_ids(
    numbers: tuple[int | None, ...],
) -> None:
    pieces: tuple[dict[str, Any], ...] = (
        {"id": "a", "function": {"name": "f", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"id": "b", "function": {"name": "g", "arguments": "{}"}},
    )
    chunks = [
        {"choices": [{"index": None, "delta": {"tool_calls": [{"index": number, **piece}]}}]}
        for number, piece in zip(numbers, pieces, strict=True)
    ]
    stream, _ = fed(events(*chunks), DONE)
    calls = stream.document()["choices"][0]["message"]["tool_calls"]
    assert [(call["id"], *call["function"].values()) for call in calls] == [
        ("a", "f", "{}"), ("b", "g", "{}"),
    ]  # fmt: skip


def test_a_tool_call_is_put_together_from_its_pieces() -> None:
    def call(**function: str) -> dict[str, Any]:
        piece = {"index": 0, "id": "t1", "function": function}
        return {"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}

    made_of = events(call(name="search"), call(arguments='{"q":'), call(arguments="1}"))
    stream, _ = fed(made_of, DONE)
    [made] = stream.document()["choices"][0]["message"]["tool_calls"]
    assert made == {"id": "t1", "function": {"name": "search", "arguments": '{"q":1}'}}


def test_a_stream_that_ends_too_early_is_never_an_answer() -> None:
    finished = WHOLE.index(b"\r\r") + 2
    for length in range(1, len(WHOLE)):
        stream, _ = fed(WHOLE[:length])
        if length >= finished:
            assert stream.document()["choices"][0]["finish_reason"] == "stop"
        else:
            with pytest.raises(InvalidReply, match="ended before the reply did"):
                stream.document()


@every(
    ("wire", "kind"),
    [
        (b"data: {\n\n", "malformed_response"),
        (b"data: []\n\n", "malformed_response"),
        (b"data: \xff\n\n", "malformed_response"),
        (events({"choices": 5}), "malformed_response"),
        (events({"choices": ["text"]}), "malformed_response"),
        (events({"choices": [{"delta": "text"}]}), "malformed_response"),
        (events({"choices": [{"delta": {"content": 5}}]}), "malformed_response"),
        (events({"choices": [{"delta": {"tool_calls": [5]}}]}), "malformed_response"),
        (events({"choices": [{"delta": {"tool_calls": 5}}]}), "malformed_response"),
        (events(delta("a"), delta("b") | {"model": "other"}), "malformed_response"),
        (events(delta("a", "stop"), delta("more")), "malformed_response"),
        (DONE + events(delta("more")), "malformed_response"),
        (events(delta("a"), {"error": {"message": "it broke"}}), "provider_error"),
        (events({"error": "overloaded_error"}), "provider_error"),
    ],
)
def test_what_no_reply_holds_spoils_the_stream(wire: bytes, kind: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        fed(wire)
    assert caught.value.kind == kind
