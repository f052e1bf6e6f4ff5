"""Forms of replies that vendors and gateways send, and that no reference of an API shows."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from failproof_es.configuration.schema import Model
from failproof_es.events import Usage
from failproof_es.models.http_reply import HttpReply, InvalidReply
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.protocol import Answer, ModelError, PreparedRequest
from failproof_es.models.provider_type import provider_type
from failproof_es.models.providers.sdk.provider import SdkProvider
from failproof_es.models.providers.sdk.transport import SdkRequest
from tests.every import every
from tests.integration.models.contract.wires import aws_frame, event_frame

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def read(provider: str, body: Any, status: int = 200, **headers: str) -> Answer:
    """Read a reply as a run does. `body`: a document, or the data of a stream's events."""
    kind = provider_type(provider)
    assert isinstance(kind, HttpProviderType)
    content_type = "text/event-stream" if isinstance(body, list) else "application/json"
    data = b"".join(map(event, body)) if isinstance(body, list) else orjson.dumps(body)
    own_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return reread(
        kind, HttpReply(status, {"content-type": content_type, **own_headers}, data, 1.0, NOW)
    )


def reread(kind: HttpProviderType, reply: HttpReply) -> Answer:
    reader = kind.implementation()
    stream = reader.stream_of(reply.headers) if reply.status == 200 else None
    try:
        if stream is not None:
            stream.feed(reply.body)
    except InvalidReply as flaw:
        raise reply.error(flaw) from None
    return reader.read(reply, stream)


def event(data: Any) -> bytes:
    return b"data: %b\n\n" % (data if isinstance(data, bytes) else orjson.dumps(data))


# -- tokens ----------------------------------------------------------------------------------


def completion(usage: Any = None, **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"content": "hi", **message}, "finish_reason": "stop"}
    return {"model": "m", "choices": [choice], "usage": usage}


def chunk(reason: str | None = None, content: str | None = None, **more: Any) -> dict[str, Any]:
    delta = {} if content is None else {"content": content}
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"model": "m", "choices": [{**choice, **more.pop("choice", {})}], **more}


COUNTS = {"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 41}
COUNTED = Usage(input_tokens=32, output_tokens=9)


@every(
    ("usage", "expected"),
    [
        # xAI counts thoughts in the total only; so does Gemini's compatible API, without details.
        (
            {
                **COUNTS,
                "total_tokens": 135,
                "completion_tokens_details": {"reasoning_tokens": 94},
            },
            Usage(input_tokens=32, output_tokens=103, reasoning_tokens=94),
        ),
        ({**COUNTS, "total_tokens": 135}, Usage(input_tokens=32, output_tokens=103)),
        # Perplexity counts them beside the total.
        (
            {**COUNTS, "citation_tokens": 7_299, "reasoning_tokens": 73_248},
            Usage(input_tokens=32, output_tokens=73_257, reasoning_tokens=73_248),
        ),
        ({**COUNTS, "reasoning_tokens": 4}, COUNTED.model_copy(update={"reasoning_tokens": 4})),
        ({**COUNTS, "cached_tokens": 30}, COUNTED.model_copy(update={"cached_input_tokens": 30})),
        (
            {**COUNTS, "num_cached_tokens": 30},
            COUNTED.model_copy(update={"cached_input_tokens": 30}),
        ),
        (
            {**COUNTS, "prompt_cache_hit_tokens": 0},
            COUNTED.model_copy(update={"cached_input_tokens": 0}),
        ),
        ({**COUNTS, "total_tokens": 0}, COUNTED),
        ({**COUNTS, "total_tokens": "135"}, COUNTED),
        ({"completion_tokens": 9, "total_tokens": 135}, Usage(output_tokens=9)),
        (
            {**COUNTS, "citation_tokens": 1, "reasoning_tokens": 10**9},
            Usage(input_tokens=32),
        ),
    ],
)
def test_tokens_that_a_vendor_counts_elsewhere_are_counted(usage: Any, expected: Usage) -> None:
    assert read("openai", completion(usage)).usage == expected


@every(
    "end",
    [chunk("stop", choice={"usage": COUNTS}), chunk("stop", x_groq={"id": "r", "usage": COUNTS})],
)
def test_a_stream_may_hold_its_counts_elsewhere(end: dict[str, Any]) -> None:
    assert read("openai", [chunk(content="hi"), end, b"[DONE]"]).usage == COUNTED


# -- errors ----------------------------------------------------------------------------------


def failure(provider: str, body: Any, status: int = 200, **headers: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read(provider, body, status, **headers)
    return caught.value


def error(message: str, kind: str | None = None, code: Any = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code}}


XAI = "Your team x has either used all available credits or reached its monthly spending limit."
NO_CREDIT = [
    (
        "anthropic",
        400,
        error("Your credit balance is too low to access the API.", "invalid_request_error"),
    ),
    ("anthropic", 400, error("You have reached your specified API usage limits.")),
    ("openrouter", 403, error("Key limit exceeded (total limit). Manage it at ...", code=403)),
    ("openai", 400, error("Please make sure your account is in good standing", code="Arrearage")),
    ("openai", 429, error("Your account is not active", "exceeded_current_quota_error")),
    ("openai", 429, error("余额不足或无可用资源包", code="1113")),
    ("openai", 429, error("Insufficient balance or no resource package. Please recharge.")),
    ("openai", 429, {"code": "Some resource has been exhausted", "error": XAI}),
    ("openai", 403, {"code": "...", "error": "Your newly created team doesn't have any credits."}),
    ("openai", 412, {"error": "Account a is suspended, possibly for its monthly spending limit"}),
    ("openai", 400, error("Budget has been exceeded! Current cost: 2, Max budget: 1", code="400")),
    (
        "gemini",
        429,
        {"error": {"code": 429, "message": "Your prepayment credits are depleted.",
                   "status": "RESOURCE_EXHAUSTED"}},
    ),
]  # fmt: skip


@every(("provider", "status", "body"), NO_CREDIT)
def test_missing_credit_stops_the_run_whatever_the_vendor_calls_it(
    provider: str, status: int, body: Any
) -> None:
    came = failure(provider, body, status, retry_after="1")
    assert (came.kind, came.disposition) == ("payment_required", "halting")


@every(("provider", "status", "body"), NO_CREDIT)
def test_a_message_alone_means_missing_credit_under_a_4xx_only(
    provider: str, status: int, body: Any
) -> None:
    reported = body["error"]
    message = reported["message"] if isinstance(reported, dict) else reported
    for other in (200, 500, 503):
        assert failure(provider, {"error": {"message": message}}, other).disposition != "halting"


FREE_TIER = "You exceeded your current quota, please check your plan and billing details."


def test_a_quota_of_a_minute_is_no_missing_credit() -> None:
    quota = {"code": 429, "message": FREE_TIER, "status": "RESOURCE_EXHAUSTED"}
    assert failure("gemini", {"error": quota}, 429).disposition == "deferred"


GROQ = "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 12328"
USED = "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29500, Requested {}."


@every(
    ("status", "message", "disposition"),
    [
        (413, GROQ, "final"),
        (429, GROQ, "final"),
        (413, "over the rate limit", "final"),
        (429, USED.format(1_200), "deferred"),
        (429, USED.format(31_200), "final"),
        (403, USED.format(31_200), "final"),
        (403, USED.format(1_200), "deferred"),
        (429, "Limit " + "9" * 5_000 + ", Requested 1", "deferred"),
    ],
)
def test_a_request_above_the_limit_itself_is_not_asked_again(
    status: int, message: str, disposition: str
) -> None:
    came = failure("openai", error(message, "tokens", "rate_limit_exceeded"), status)
    assert came.disposition == disposition
    assert came.kind == ("bad_request" if disposition == "final" else "rate_limited")


FORBIDDEN = {"type": "extra_forbidden", "loc": ["body", "foo", 1], "msg": "No extra", "input": "K"}


@every(
    ("body", "defects"),
    [
        ({"object": "error", "message": {"detail": [FORBIDDEN]}}, "body.foo.1: No extra"),
        ({"detail": [FORBIDDEN, {"msg": "No"}]}, "body.foo.1: No extra; No"),
        ({"error": ["too large", "too long"]}, "too large; too long"),
        ({"detail": [7, {"msg": 7, "loc": 7}]}, None),
        ({"detail": [{"msg": "No", "loc": 7}]}, "No"),
        ({"detail": [{"msg": "No", "loc": [None]}]}, "No"),
        ({"detail": ["x"] * 11}, "; ".join("x" * 10)),
        ({"detail": [], "message": []}, None),
    ],
)
def test_the_defects_of_a_refused_request_are_shown_and_not_its_content(
    body: Any, defects: str | None
) -> None:
    came = failure("mistral", body, 422)
    assert came.message == "HTTP 422" + (f": {defects}" if defects else "")


GROQ_STOPS = chunk(x_groq={"id": "r", "error": "over_capacity"})


def test_half_an_answer_that_groq_stopped_is_an_error() -> None:
    came = failure("openai", [chunk(content="The answer is"), GROQ_STOPS, b"[DONE]"])
    assert (came.kind, came.disposition) == ("overloaded", "deferred")
    came = failure("openai", [GROQ_STOPS | {"x_groq": {"error": {"message": "odd"}}}, b"[DONE]"])
    assert (came.kind, came.disposition) == ("provider_error", "final")


# -- blocks ----------------------------------------------------------------------------------

BLOCKED = "Output blocked by content filtering policy"
ANTHROPIC_BLOCKS = {"type": "error", **error(BLOCKED, "invalid_request_error")}
START = {"type": "message_start", "message": {"model": "c", "usage": {"input_tokens": 5}}}
HALF = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}},
]
FLAGGED = "Invalid prompt: it was flagged as potentially violating our usage policy."
FAILED = {"type": "response.failed", "response": {"status": "failed", "error": None}}


@every(
    ("provider", "status", "body", "text"),
    [
        ("anthropic", 400, ANTHROPIC_BLOCKS, ""),
        ("anthropic", 200, ANTHROPIC_BLOCKS, ""),
        ("anthropic", 200, [ANTHROPIC_BLOCKS], ""),
        ("anthropic", 200, [START, ANTHROPIC_BLOCKS], ""),
        ("anthropic", 200, [START, *HALF, ANTHROPIC_BLOCKS, {"type": "ping"}], "hi"),
        ("openai", 200, [error(BLOCKED)], ""),
        ("openai-responses", 200, [{"type": "error", **error("no", code="content_filter")}], ""),
        (
            "openai-responses",
            200,
            [{"type": "error", "code": "invalid_prompt", "message": FLAGGED}, FAILED],
            "",
        ),
        ("bedrock", 400, {"message": BLOCKED}, ""),
        ("bedrock", 400, {"message": f'The model returned errors: {{"message":"{BLOCKED}"}}'}, ""),
        ("bedrock", 200, {"message": BLOCKED}, ""),
    ],
)
def test_a_block_is_a_withheld_answer_wherever_it_is_reported(
    provider: str, status: int, body: Any, text: str
) -> None:
    answer = read(provider, body, status)
    assert (answer.text, answer.finish_reason) == (text, "content_filter")
    assert answer.refusal


def test_a_block_in_frames_is_a_withheld_answer() -> None:
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    block = aws_frame(
        {"message": BLOCKED}, exception_type="validationException", message_type="exception"
    )
    half = event_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "hi"}})
    for body, text in ((block, ""), (half + block, "hi")):
        kind = provider_type("bedrock")
        assert isinstance(kind, HttpProviderType)
        answer = reread(kind, HttpReply(200, headers, body, 1.0, NOW))
        assert (answer.finish_reason, answer.refusal) == ("content_filter", BLOCKED)
        assert answer.text == text


# -- tool calls, ends of streams, phases ------------------------------------------------------


def call(name: str | None, arguments: str | None, **more: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"function": {key: value for key, value in function.items() if value}, **more}


def calls(*pieces: dict[str, Any]) -> list[tuple[str | None, str, str]]:
    chunks = [chunk(choice={"delta": {"tool_calls": [piece]}}) for piece in pieces]
    answer = read("openai", [*chunks, chunk("tool_calls"), b"[DONE]"])
    return [(made.id, made.name, made.arguments) for made in answer.tool_calls]


@every(
    ("pieces", "expected"),
    [
        (
            [call("search", "{}", index=0, id="a"), call("add", "{}", index=0, id="b")],
            [("a", "search", "{}"), ("b", "add", "{}")],
        ),
        (
            [
                call("search", "{", index=0, id="a"),
                call(None, "}", index=0),
                call("add", "[", index=0, id="b"),
                call(None, "]", index=0, id="b"),
                call("add", None, index=0, id="c"),
            ],
            [("a", "search", "{}"), ("b", "add", "[]"), ("c", "add", "")],
        ),
        (
            [call("sea", "{", index=0, id="a"), call("rch", "}", index=0, id="a")],
            [("a", "search", "{}")],
        ),
        (
            [call("search", "{", index=0, id="a"), call(None, "}", index=0, id="b")],
            [("b", "search", "{}")],
        ),
        (
            [call("search", "{", index=0), call("", "}", index=0, id="a")],
            [("a", "search", "{}")],
        ),
        (
            [call("add", "{}", index=1, id="b"), call("search", "{}", index=0, id="a")],
            [("a", "search", "{}"), ("b", "add", "{}")],
        ),
        ([call("search", "{}", id="a"), call("add", "{}", id="b")],
         [("a", "search", "{}"), ("b", "add", "{}")]),
    ],
)  # fmt: skip
def test_another_id_with_a_name_begins_another_call(pieces: Any, expected: Any) -> None:
    assert calls(*pieces) == expected


@every("function", [{"name": "search"}, {"name": "search", "arguments": None}])
def test_a_call_without_arguments_is_one_streamed_or_not(function: dict[str, Any]) -> None:
    called = [{"id": "a", "type": "function", "function": function}]
    [whole] = read("openai", completion(content=None, tool_calls=called)).tool_calls
    assert (whole.id, whole.name, whole.arguments) == ("a", "search", "")
    assert calls({"index": 0, **called[0]}) == [("a", "search", "")]


ENDED = [
    *HALF,
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"type": "message_stop"},
]


@every(
    ("provider", "events"),
    [
        ("anthropic", [START, *ENDED]),
        (
            "gemini",
            [{"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}],
        ),
        ("openai", [chunk(content="hi"), chunk("stop")]),
    ],
)
def test_the_last_event_of_openais_streams_may_end_another_one(
    provider: str, events: list[Any]
) -> None:
    assert read(provider, [*events, b"[DONE]"]).text == "hi"
    if provider != "openai":  # whose own end it is
        with pytest.raises(ModelError, match="ended before the reply did"):
            read(provider, [*events[:-1], b"[DONE]"])


def message(text: str, phase: str | None = None) -> dict[str, Any]:
    return {
        "type": "message", "role": "assistant", "status": "completed", "phase": phase,
        "content": [{"type": "output_text", "text": text}],
    }  # fmt: skip


@every(
    ("messages", "text"),
    [
        ([message("Let me see.", "commentary"), message("42", "final_answer")], "42"),
        ([message("4", "final_answer"), message("2", "final_answer")], "4\n\n2"),
        ([message("Let me see."), message("42")], "Let me see.\n\n42"),
        ([message("Let me see.", "commentary")], "Let me see."),
        ([message("Let me see.", "commentary"), message("", "final_answer")], ""),
        ([message(""), message("42"), message("")], "42"),
    ],
)
def test_the_final_answer_is_the_text_and_what_a_package_joins_is_known(
    messages: list[Any], text: str
) -> None:
    response = {"status": "completed", "model": "m", "output": messages}
    answer = read("openai-responses", response)
    assert answer.text == text
    assert answer.library_text == "".join(item["content"][0]["text"] for item in messages)


@pytest.mark.long
@every("text", ["42", "Let me see.42", "Let me see.", "Let me see.\n\n42"])
def test_a_package_may_return_the_final_answer_or_all_that_it_joins(text: str) -> None:
    entry = {"provider": "openai-responses-sdk", "class": "mine:Chat", "base_url": "http://x"}
    model = Model.model_validate({**entry, "model": "m"})
    provider = provider_type(model.provider).create(model, timeout_ms=1, connections=1)
    assert isinstance(provider, SdkProvider)
    messages = [message("Let me see.", "commentary"), message("42", "final_answer")]
    answer = read("openai-responses", {"status": "completed", "output": messages})
    request = PreparedRequest("http://x/responses", b"{}")
    made = SdkRequest("POST", request.endpoint, {}, request.body)
    provider._prepared[request.endpoint, request.body] = (made, [])

    async def relay(*_: object) -> Answer:
        return answer

    async def read_with_class(*_: object) -> str:
        return text

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(provider._wire, "relay", relay)
        patched.setattr(provider, "_read_with_class", read_with_class)
        if text in (answer.text, answer.library_text):
            assert asyncio.run(provider.send(request)).text == "42"
        else:
            with pytest.raises(ModelError, match="does not return the text"):
                asyncio.run(provider.send(request))
