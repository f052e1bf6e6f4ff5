"""Every protocol by every finish reason by every form of content: meaning comes before shape.

What comes of a reply must follow from what its finish reason means and from what was said, and not
from the protocol, nor from how a server writes that nothing was said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import product
from typing import Any, NamedTuple

import orjson
import pytest

from failproof_es.core.evaluation import ModelReply, unusable_reply
from failproof_es.core.finish_reasons import meaning_of, was_interrupted, word_of
from failproof_es.models import Answer, ModelError, provider_type
from failproof_es.models.http_reply import HttpReply, InvalidReply, read_as_it_came
from failproof_es.models.http_type import HttpProviderType
from tests.chat_completions import CHAT_COMPLETIONS
from tests.every import every
from tests.integration.models.contract.wires import aws_frame

SAID = "Oslo"
REASONS = (
    *("stop", "end_turn", "eos_token", "STOP"),
    *("length", "max_tokens", "MAX_TOKENS", "model_context_window_exceeded", "pause_turn"),
    *("content_filter", "SAFETY", "PROHIBITED_CONTENT", "recitation", "sensitive", "refusal"),
    *("guardrail_intervened", "content_filtered"),
    *("network_error", "abort", "insufficient_system_resource", "error"),
    *("malformed_model_output", "MALFORMED_FUNCTION_CALL"),
    *("brand_new", "OTHER", "tool_calls"),
)
Shape = dict[str, Any] | None
"""The message, as its protocol writes it; `None` for `null`."""


class Protocol(NamedTuple):
    """How the servers of a protocol write a reply."""

    provider: str
    text: Callable[[str], dict[str, Any]]
    """A message that says something."""
    nothing: tuple[Shape, ...]
    """Spellings of a message that says nothing."""
    whole: Callable[[Shape, Any], bytes]
    streamed: Callable[..., tuple[str, bytes]]
    """The content type and the body of a stream of this text (none where it is empty), and of these
    finish reasons in this order."""
    parts: Callable[[list[Any]], dict[str, Any]] = lambda parts: {"content": parts}
    """A message whose content has these parts."""


def sse(*events: dict[str, Any]) -> tuple[str, bytes]:
    written = b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in events)
    return "text/event-stream", written


def chat_stream(text: str, *reasons: Any) -> tuple[str, bytes]:
    delta = {"content": text} if text else {}
    return sse(
        {"choices": [{"index": 0, "delta": delta}]},
        *({"choices": [{"index": 0, "delta": {}, "finish_reason": each}]} for each in reasons),
    )


def anthropic_stream(text: str, *reasons: Any) -> tuple[str, bytes]:
    block = {"type": "text", "text": text}
    return sse(
        {"type": "message_start", "message": {"model": "m", "content": []}},
        *([{"type": "content_block_start", "index": 0, "content_block": block}] if text else []),
        *({"type": "message_delta", "delta": {"stop_reason": each}} for each in reasons),
        {"type": "message_stop"},
    )


def bedrock_stream(text: str, reason: Any) -> tuple[str, bytes]:
    def event(kind: str, payload: Any) -> bytes:
        return aws_frame(payload, event_type=kind, message_type="event")

    delta = event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}})
    body = (delta if text else b"") + event("messageStop", {"stopReason": reason})
    return "application/vnd.amazon.eventstream", body


def gemini_stream(text: str, *reasons: Any) -> tuple[str, bytes]:
    said = {"content": {"parts": [{"text": text}]}} if text else {}
    ends = [{"candidates": [{"finishReason": reason}]} for reason in reasons]
    return sse({"candidates": [said]}, *ends)


def ollama_stream(text: str, *reasons: Any) -> tuple[str, bytes]:
    lines: list[dict[str, Any]] = [{"message": {"content": text}}] if text else []
    *before, reason = reasons
    lines += [{"message": {}, "done_reason": each} for each in before]
    last = {"done": True, "done_reason": reason}
    return "application/x-ndjson", b"".join(orjson.dumps(each) + b"\n" for each in [*lines, last])


def chat(message: Shape, reason: Any) -> bytes:
    return orjson.dumps({"choices": [{"message": message, "finish_reason": reason}]})


CHAT_NOTHING: tuple[Shape, ...] = (
    {"content": ""},
    {"content": None},
    {},
    None,
    {"content": []},
    {"content": None, "reasoning_content": "Hm."},
    {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]},
)
PROTOCOLS = [
    *(
        Protocol(name, lambda text: {"content": text}, CHAT_NOTHING, chat, chat_stream)
        for name in CHAT_COMPLETIONS
    ),
    Protocol(
        "anthropic",
        lambda text: {"content": [{"type": "text", "text": text}]},
        (
            {"content": []},
            {"content": None},
            {},
            {"content": [{"type": "text", "text": ""}]},
            {"content": [{"type": "thinking", "thinking": "Hm."}]},
        ),
        lambda message, reason: orjson.dumps({**(message or {}), "stop_reason": reason}),
        anthropic_stream,
    ),
    Protocol(
        "bedrock",
        lambda text: {"content": [{"text": text}]},
        (
            {"content": []},
            {"content": None},
            {},
            None,
            {"content": [{"reasoningContent": {"reasoningText": {"text": "Hm."}}}]},
        ),
        lambda message, reason: orjson.dumps(
            {"output": {"message": message}, "stopReason": reason}
        ),
        bedrock_stream,
    ),
    *(
        Protocol(
            name,
            lambda text: {"content": {"parts": [{"text": text}]}},
            (
                {"content": {"parts": [{"text": ""}]}},
                {"content": {"parts": []}},
                {"content": {"parts": None}},
                {"content": {}},
                {"content": None},
                {},
                {"content": {"parts": [{"text": "Hm.", "thought": True}]}},
            ),
            lambda message, reason: orjson.dumps(
                {"candidates": [{**(message or {}), "finishReason": reason}]}
            ),
            gemini_stream,
            lambda parts: {"content": {"parts": parts}},
        )
        for name in ("gemini", "vertex")
    ),
    Protocol(
        "ollama",
        lambda text: {"content": text},
        ({"content": ""}, {"content": None}, {}, None, {"content": None, "thinking": "Hm."}),
        lambda message, reason: orjson.dumps(
            {"message": message, "done": True, "done_reason": reason}
        ),
        ollama_stream,
    ),
]


def read(provider: str, content_type: str, body: bytes) -> Answer | ModelError:
    kind = provider_type(provider)
    assert isinstance(kind, HttpProviderType)
    implementation = kind.implementation()
    headers = {"content-type": content_type}
    reply = HttpReply(200, headers, body, 1.0, datetime.now(UTC))
    try:
        stream = implementation.stream_of(headers)
        if stream is not None:
            stream.feed(body)
        return read_as_it_came(implementation, reply, stream)
    except ModelError as error:
        return error
    except InvalidReply as flaw:
        return reply.error(flaw)


def replies(protocol: Protocol, reason: Any) -> Iterator[tuple[str, Answer | ModelError, Any]]:
    """What was said, what comes of it, and the shape, for errors of this test."""
    whole = "application/json"
    spoken = protocol.text(SAID)
    yield SAID, read(protocol.provider, whole, protocol.whole(spoken, reason)), spoken
    for shape in protocol.nothing:
        yield "", read(protocol.provider, whole, protocol.whole(shape, reason)), shape
    for text in (SAID, ""):
        yield text, read(protocol.provider, *protocol.streamed(text, reason)), "a stream"


@every(
    ("protocol", "reason"),
    [
        pytest.param(protocol, reason, id=f"{protocol.provider}-{reason}")
        for protocol, reason in product(PROTOCOLS, REASONS)
    ],
)
def test_what_comes_of_a_reply_follows_from_its_end_and_its_words(
    protocol: Protocol, reason: str
) -> None:
    meaning = meaning_of(reason)
    for text, came, shape in replies(protocol, reason):
        if was_interrupted(reason):
            assert isinstance(came, ModelError), shape
            assert (came.kind, came.disposition) == ("provider_error", "transient"), shape
            assert reason in came.message
        elif not text and meaning in ("tool_call", "broken"):
            assert isinstance(came, ModelError), shape
            assert (came.kind, came.disposition) == ("missing_content", "transient"), shape
        else:
            assert isinstance(came, Answer), (shape, came)
            assert came.text == text, shape
            assert came.finish_reason is not None
            assert meaning_of(came.finish_reason) == meaning, shape
            if meaning in ("unknown", "broken"):
                assert came.finish_reason == reason, "word for word"
            unusable = unusable_reply([ModelReply(0, came.text, came.finish_reason)])
            assert (unusable is not None) == (meaning in ("withheld", "broken", "unknown"))


BY_PROTOCOL = every("protocol", [pytest.param(each, id=each.provider) for each in PROTOCOLS])
NO_TEXTS: tuple[Any, ...] = (
    *(3, 0, 1.5, False, True, [], {}, ["length"], ["stop"], {"type": "stop"}),
    *({"type": "length"}, {"reason": "content_filter"}),
)
"""What a server may write in place of the word of a finish reason."""


@BY_PROTOCOL
@every("reason", NO_TEXTS)
def test_a_reason_that_is_no_text_is_recorded_word_for_word_and_nobody_grades_its_answer(
    protocol: Protocol, reason: Any
) -> None:
    for text, came, shape in replies(protocol, reason):
        assert isinstance(came, Answer), (shape, came)
        assert (came.text, came.finish_reason) == (text, orjson.dumps(reason).decode()), shape
        unusable = unusable_reply([ModelReply(0, came.text, came.finish_reason)])
        assert unusable is not None and unusable.primary == "unknown", shape


@BY_PROTOCOL
@every("worst", ["length", "SAFETY", "brand_new", "malformed_model_output", 3])
def test_of_several_reasons_in_a_stream_the_worst_counts(protocol: Protocol, worst: Any) -> None:
    if protocol.provider == "bedrock":
        return  # its stream ends with its one reason
    word = worst if isinstance(worst, str) else str(worst)
    for reasons in ((worst, "stop"), ("stop", worst), (worst, None), (worst, "stop", "")):
        came = read(protocol.provider, *protocol.streamed(SAID, *reasons))
        assert isinstance(came, Answer), (reasons, came)
        assert came.text == SAID
        assert meaning_of(came.finish_reason) == meaning_of(word), reasons


@every("provider", ["gemini", "vertex"])
@every("every", ["STOP", "FINISH_REASON_UNSPECIFIED"])
@every(("last", "meaning"), [("STOP", "complete"), ("MAX_TOKENS", "cut_off")])
def test_a_stream_of_gemini_1_says_in_every_event_how_it_ends(
    provider: str, every: str, last: str, meaning: str
) -> None:
    events = [
        {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": reason}]}
        for text, reason in (("Os", every), ("l", every), ("o", last))
    ]
    came = read(provider, *sse(*events))
    assert isinstance(came, Answer) and came.text == SAID
    assert meaning_of(came.finish_reason) == meaning


@every("provider", ["gemini", "vertex"])
def test_a_stream_of_gemini_in_one_list_is_read(provider: str) -> None:
    def chunk(text: str, **more: Any) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": [{"text": text}]}, **more}]}

    chunks = [chunk("Os"), chunk("lo", finishReason="STOP")]
    came = read(provider, "application/json", orjson.dumps(chunks))
    assert isinstance(came, Answer) and came.text == SAID
    for broken in (chunks[:1], [], [*chunks, {"error": {"code": 503, "message": "it broke"}}]):
        assert isinstance(read(provider, "application/json", orjson.dumps(broken)), ModelError)


def test_a_message_that_stops_without_a_reason_was_broken_off() -> None:
    for reasons in ((), (None,), ("",)):
        came = read("anthropic", *anthropic_stream(SAID, *reasons))
        assert isinstance(came, ModelError)
        assert (came.kind, came.disposition) == ("stream_broken", "transient")


READABLE: tuple[list[Any], ...] = (
    [{"type": "text", "text": SAID}],
    [{"type": "output_text", "text": SAID}],
    [{"type": "brand_new", "text": SAID}],
    [{"text": SAID}],
    [{"type": "text", "text": "Os"}, {"text": "lo"}],
    [{"type": "text", "text": None}, {"type": "text", "text": SAID}],
    [{"type": "image"}, {"type": "text", "text": SAID}, {}],
    [{"type": "thinking", "text": "Hm."}, {"text": SAID}, {"type": "reasoning", "text": "Hm."}],
)
UNREADABLE: tuple[list[Any], ...] = (
    [{"type": "brand_new", "content": SAID}],
    [{"type": "text", "text": 7}],
    [{"type": "text", "text": None}],
    [{"text": "Os"}, {"text": ["lo"]}],
    [{"type": "output_text", "text": {"value": SAID}}],
    [{"type": "thinking", "text": "Hm."}, {"type": "image"}],
    [7],
    [None],
    [[SAID]],
)


def responses(parts: list[Any], status: str = "completed") -> bytes:
    output = [{"type": "message", "content": parts}]
    return orjson.dumps({"status": status, "output": output})


def of_parts(parts: list[Any], reason: str = "stop") -> Iterator[tuple[str, Answer | ModelError]]:
    """What each protocol makes of a whole reply whose content has these parts."""
    for protocol in PROTOCOLS:
        body = protocol.whole(protocol.parts(parts), reason)
        yield protocol.provider, read(protocol.provider, "application/json", body)
    status = "completed" if reason == "stop" else "incomplete"
    body = responses(parts, status)
    yield "openai-responses", read("openai-responses", "application/json", body)


@every("parts", READABLE)
def test_the_text_of_parts_is_read_whatever_their_types_are(parts: list[Any]) -> None:
    for provider, came in of_parts(parts):
        assert isinstance(came, Answer), (provider, came)
        assert came.text == SAID, provider


@every("parts", UNREADABLE)
def test_content_that_cannot_be_read_is_no_empty_answer(parts: list[Any]) -> None:
    for provider, came in of_parts(parts):
        assert isinstance(came, ModelError), (provider, came)
        assert came.kind in ("missing_content", "malformed_response"), provider
    for provider, came in of_parts(parts, "length"):
        if isinstance(came, Answer):
            assert meaning_of(came.finish_reason) == "cut_off", provider


@every("provider", [*CHAT_COMPLETIONS, "anthropic"])
def test_a_text_and_a_list_of_texts_are_content(provider: str) -> None:
    [protocol] = [each for each in PROTOCOLS if each.provider == provider]
    for content in (SAID, [SAID], ["Os", {"text": "lo"}]):
        body = protocol.whole({"content": content}, "stop")
        came = read(provider, "application/json", body)
        assert isinstance(came, Answer) and came.text == SAID


@every("text", [SAID, ""])
def test_a_refusal_among_the_parts_is_the_refusal_of_the_reply(text: str) -> None:
    said = "I can't go on."
    parts = [
        *([{"type": "text", "text": text}] if text else []),
        {"type": "refusal", "refusal": said},
    ]
    for provider, came in of_parts(parts):
        if provider in ("bedrock", "gemini", "vertex", "ollama"):
            continue  # there a refusal is no part
        assert isinstance(came, Answer), (provider, came)
        assert (came.text, came.refusal) == (text, said), provider
    streamed = [{"choices": [{"delta": {"content": [part]}}]} for part in parts]
    came = read("openai", *sse(*streamed, {"choices": [{"delta": {}, "finish_reason": "stop"}]}))
    assert isinstance(came, Answer) and (came.text, came.refusal) == (text, said)


@every(
    "choice",
    [
        {"text": SAID, "finish_reason": "stop"},
        {"message": {"content": SAID}, "finish_reason": "stop"},
        {"index": None, "message": {"content": SAID}, "finish_reason": "stop"},
    ],
)
def test_a_completion_of_text_and_a_whole_message_in_a_stream_are_read(
    choice: dict[str, Any],
) -> None:
    for came in (
        read("openai", "application/json", orjson.dumps({"choices": [choice]})),
        read("openai", *sse({"choices": [choice]})),
        read("openai", *sse({"choices": [{**choice, "delta": None}]})),
    ):
        assert isinstance(came, Answer) and came.text == SAID


def test_a_whole_message_after_its_pieces_says_nothing_twice() -> None:
    last = {"index": 0, "delta": {}, "message": {"content": SAID}, "finish_reason": "stop"}
    pieces = {"choices": [{"index": 0, "delta": {"content": SAID}}]}
    came = read("openai", *sse(pieces, {"choices": [last]}))
    assert isinstance(came, Answer) and came.text == SAID


def test_parts_of_a_stream_of_which_nothing_can_be_read_are_no_empty_answer() -> None:
    reference = {"type": "reference", "reference_ids": [1]}
    end = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    unread = {"choices": [{"delta": {"content": [reference]}}]}
    assert isinstance(read("mistral", *sse(unread, end)), ModelError)
    said = {"choices": [{"delta": {"content": [{"type": "text", "text": SAID}]}}]}
    came = read("mistral", *sse(said, unread, end))
    assert isinstance(came, Answer) and came.text == SAID


CONTENT_TYPES = (
    "",
    "text/plain",
    "application/json",
    "application/octet-stream",
    "text/event-stream",
)


@BY_PROTOCOL
@every("content_type", CONTENT_TYPES)
def test_a_reply_is_of_the_form_that_its_bytes_show(protocol: Protocol, content_type: str) -> None:
    declared, stream = protocol.streamed(SAID, "stop")
    bodies = [stream, b"\n" + stream, protocol.whole(protocol.text(SAID), "stop")]
    if protocol.provider == "bedrock":
        del bodies[1]
    for body in bodies:
        came = read(protocol.provider, content_type, body)
        assert isinstance(came, Answer), (declared, came)
        assert (came.text, came.body) == (SAID, body)


def test_a_broken_stream_under_another_content_type_is_no_half_answer() -> None:
    for protocol in PROTOCOLS:
        _, body = protocol.streamed(SAID, "stop")
        for end in range(1, len(body) // 2):
            came = read(protocol.provider, "application/json", body[:end])
            assert isinstance(came, ModelError), (protocol.provider, body[:end])


def test_what_no_json_can_hold_costs_no_answer_beside_which_it_stands() -> None:
    for protocol in PROTOCOLS:
        whole = protocol.whole(protocol.text(SAID), "stop")
        for odd in (b"NaN", b"Infinity", b"-Infinity"):
            came = read(
                protocol.provider, "application/json", whole[:-1] + b',"timings":{"a":[%b]}}' % odd
            )
            assert isinstance(came, Answer) and came.text == SAID, protocol.provider
            said = whole.replace(b'"Oslo"', odd)
            assert isinstance(read(protocol.provider, "application/json", said), ModelError)


@every("reason", [*REASONS, *NO_TEXTS, None])
def test_a_response_says_why_it_is_incomplete(reason: Any) -> None:
    """The Responses API: a status, and a reason beside it."""
    details = {"incomplete_details": None if reason is None else {"reason": reason}}
    message = {"type": "message", "content": [{"type": "output_text", "text": SAID}]}
    for output in ([message], [], None, [{"type": "reasoning"}]):
        body = orjson.dumps({"status": "incomplete", "output": output, **details})
        came = read("openai-responses", "application/json", body)
        if was_interrupted(word_of(reason)):
            assert isinstance(came, ModelError) and came.disposition == "transient"
            continue
        assert isinstance(came, Answer)
        assert came.text == (SAID if output == [message] else "")
        ended = meaning_of("incomplete" if reason is None else word_of(reason))
        assert meaning_of(came.finish_reason) == ended


@every("told", ["completed", "incomplete", "failed"])
@every("own", ["completed", "incomplete", "failed", None])
@every("item", ["completed", "incomplete", None])
def test_of_what_says_how_a_response_ended_the_worst_counts(
    told: str, own: str | None, item: str | None
) -> None:
    message = {
        "type": "message",
        "status": item,
        "content": [{"type": "output_text", "text": SAID}],
    }
    response = {"status": own, "output": [message]}
    came = read("openai-responses", *sse({"type": f"response.{told}", "response": response}))
    said = (told, own, item)
    if "failed" in said:
        assert isinstance(came, ModelError)
    else:
        assert isinstance(came, Answer) and came.text == SAID
        assert (meaning_of(came.finish_reason) == "cut_off") == ("incomplete" in said)


@every(
    ("body", "text"),
    [
        (b'\xef\xbb\xbf{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}', "a"),
        (
            b'{"choices":[{"index":1,"message":{"content":"b"}},'
            b'{"index":0,"message":{"content":"a"}}]}',
            "a",
        ),
        (b'{"choices":[{"message":{"content":"a"},"finish_reason":"null"}]}', "a"),
    ],
)
def test_what_servers_do_oddly_is_read(body: bytes, text: str) -> None:
    came = read("openai", "application/json", body)
    assert isinstance(came, Answer) and came.text == text
