"""Every provider over HTTP against a server that says what its vendor documents, faults included.

`ProviderContract` holds for any provider. This holds for what each vendor has of its own: how it
counts tokens, names models and requests, limits rates, declines, blocks, calls tools and fails.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import orjson
import pytest

from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.core.costs import cost_usd
from failproof_es.events import ModelPrices
from failproof_es.models import Answer, ModelError, Provider, provider_type
from failproof_es.models.http import HttpProvider
from failproof_es.models.http_reply import HttpReply, InvalidReply, kept_headers
from failproof_es.models.http_type import HttpProviderType
from failproof_es.models.protocol import ResponseOptions
from failproof_es.models.replies.parse_check import find_parse_mismatch
from failproof_es.testing.kit import KEY, KEY_VARIABLE, ask, error_text, key_set, recorded
from failproof_es.testing.other_side import Reply
from tests.every import every
from tests.integration.models.contract.speaking.all import SPOKEN
from tests.integration.models.contract.speaking.example import (
    RATE,
    TOLD_APART,
    TOOL,
    Example,
    ExampleServer,
    Speaks,
    cuts,
)

PROVIDERS = [pytest.param(each, id=each.provider) for each in SPOKEN]
STREAMING = [each for each in SPOKEN if "stream" in each.examples]
STREAMS = [pytest.param(each, id=each.provider) for each in STREAMING]
WHOLE_AND_STREAMED = pytest.mark.parametrize(
    ("speaks", "name"),
    [*((each, "answer") for each in SPOKEN), *((each, "stream") for each in STREAMING)],
    ids=lambda each: each if isinstance(each, str) else each.provider,
)
EXAMPLES = [
    pytest.param(each, example, id=f"{each.provider}-{name}")
    for each in SPOKEN
    for name, example in each.examples.items()
]
ANSWERS = [each for each in EXAMPLES if each.values[1].kind is None]  # type: ignore[union-attr]


@pytest.fixture(autouse=True)
def _key() -> Iterator[None]:
    with key_set():
        yield


def model_of(speaks: Speaks, url: str, *, stream: bool = False) -> Model:
    entry = {"provider": speaks.provider, "base_url": url + speaks.path, **speaks.entry}
    entry |= {"api_key_env": KEY_VARIABLE} | ({"stream": True} if stream else {})
    return Model.model_validate(entry)


def implementation(speaks: Speaks) -> type[HttpProvider]:
    kind = provider_type(speaks.provider)
    assert isinstance(kind, HttpProviderType)
    return kind.implementation()


def asked(
    speaks: Speaks, reply: Reply, *, stream: bool = False, cut: bool = False
) -> tuple[Answer | ModelError, ExampleServer, Provider]:
    """What comes of one request, and the server that was asked."""

    async def main() -> tuple[Answer | ModelError, ExampleServer, Provider]:
        async with ExampleServer(reply, cut=cut) as server:
            kind = provider_type(speaks.provider)
            model = model_of(speaks, server.url, stream=stream)
            provider = kind.create(model, timeout_ms=10_000, connections=1)
            offered = (TOOL,) if kind.capabilities.tools else ()
            request = provider.prepare(ask("What?"), ResponseOptions(tools=offered))
            try:
                return await provider.send(request), server, provider
            except ModelError as error:
                return error, server, provider
            finally:
                await provider.close()

    return asyncio.run(main())


def error_of(
    speaks: Speaks, reply: Reply, *, stream: bool = False, cut: bool = False
) -> ModelError:
    came, server, _ = asked(speaks, reply, stream=stream, cut=cut)
    assert isinstance(came, ModelError), f"taken for an answer: {came}"
    assert (came.body or b"") == reply.body == server.sent
    assert len(server.requests) == 1, "one call is one attempt"
    return came


@every("speaks", PROVIDERS)
def test_every_case_has_an_example_or_a_reason_why_it_can_not_be(speaks: Speaks) -> None:
    missing = [
        name for name in TOLD_APART if name not in speaks.examples and name not in speaks.unable
    ]
    assert not missing
    assert not set(speaks.examples) & set(speaks.unable)
    assert speaks.reference.startswith("https://")


@every(("speaks", "example"), EXAMPLES)
def test_what_a_server_says_is_read_and_kept_whole(speaks: Speaks, example: Example) -> None:
    came, server, provider = asked(speaks, example.reply, stream=example.stream)
    [request] = server.requests
    assert (came.body or b"") == server.sent == example.reply.body, "to the last byte"
    assert came.status == example.reply.status
    assert came.headers.items() >= example.recorded.items()
    said = f"{came!r}{came.headers}" + ("" if isinstance(came, Answer) else error_text(came))
    assert KEY not in said
    if isinstance(came, ModelError):
        assert example.kind is not None, error_text(came)
        assert (came.kind, came.disposition) == (example.kind, example.disposition)
        assert came.retry_after_s == example.retry_after_s
        assert example.says in came.message
    else:
        assert example.kind is None, f"taken for an answer: {came}"
        read = {
            name: getattr(came, name)
            for name in ("text", "finish_reason", "refusal", "tool_calls", "model", "usage")
        }
        assert read == {name: getattr(example, name) for name in read}
        assert came.provider_request_id == example.request_id
        assert find_parse_mismatch(speaks.provider, recorded(provider, came)) is None
    name, before = speaks.key
    assert request.headers[name] == before + KEY
    assert KEY.encode() not in request.body and KEY not in request.path
    path = (example.stream and speaks.streamed_at) or speaks.asked_at
    assert (request.method, request.path) == ("POST", path)


@every("speaks", PROVIDERS)
def test_a_request_holds_the_whole_conversation_and_the_check_of_a_run_sees_it(
    speaks: Speaks,
) -> None:
    turns = [
        Turn(role="system", content="Be brief."),
        Turn(role="user", content="One?"),
        Turn(role="assistant", content="1"),
        Turn(role="user", content="Two?"),
    ]
    kind = provider_type(speaks.provider)
    provider = kind.create(model_of(speaks, "http://127.0.0.1:1"), timeout_ms=1, connections=1)
    body = provider.prepare(turns).body
    assert isinstance(orjson.loads(body), dict)
    assert kind.request_is_complete(body, turns)
    for number in range(len(turns)):
        assert not kind.request_is_complete(body, turns[:number] + turns[number + 1 :])
        assert not kind.request_is_complete(
            provider.prepare(turns[:number] + turns[number + 1 :]).body, turns
        )


@every(("speaks", "example"), ANSWERS)
def test_no_beginning_of_a_reply_is_half_an_answer(speaks: Speaks, example: Example) -> None:
    """Where it ends too soon there is no answer; where only its last events lack, all of it."""
    kind, body = implementation(speaks), example.reply.body
    headers = {"content-type": example.reply.content_type}
    for end in cuts(body):
        reply = HttpReply(200, headers, body[:end], 1.0, datetime.now(UTC))
        try:
            stream = kind.stream_of(headers)
            if stream is not None:
                stream.feed(body[:end])
            answer = kind.read(reply, stream)
        except (ModelError, InvalidReply):
            continue
        assert example.stream, "half a document"
        assert (answer.text, answer.tool_calls) == (example.text, example.tool_calls), end
        assert answer.finish_reason == example.finish_reason


@every(("speaks", "example"), ANSWERS)
def test_a_reply_reads_the_same_in_whatever_pieces_it_comes(
    speaks: Speaks, example: Example
) -> None:
    body = example.reply.body
    for size in (1, 7, len(body)):
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        kind = implementation(speaks)
        reply = HttpReply(
            example.reply.status,
            {"content-type": example.reply.content_type},
            body,
            1.0,
            datetime.now(UTC),
        )
        stream = kind.stream_of(reply.headers)
        texts = [stream.feed(piece) for piece in pieces] if stream is not None else []
        answer = kind.read(reply, stream)
        assert (answer.text, answer.usage) == (example.text, example.usage)
        assert stream is None or "".join(texts) == example.text


@WHOLE_AND_STREAMED
def test_a_connection_cut_in_the_middle_of_a_body_keeps_what_came(
    speaks: Speaks, name: str
) -> None:
    example = speaks.examples[name]
    half = Reply(200, [example.reply.body[: len(example.reply.body) // 2]])
    half = Reply(200, half.pieces, example.reply.content_type)
    error = error_of(speaks, half, stream=example.stream, cut=True)
    assert (error.kind, error.disposition, error.status) == ("connection", "transient", 200)


@every("speaks", PROVIDERS)
@every(
    ("reply", "kind", "disposition"),
    [
        pytest.param(Reply(200, []), "malformed_response", "transient", id="nothing"),
        pytest.param(
            Reply(200, [b"<html>Please log in</html>"], "text/html"),
            *("malformed_response", "transient"),
            id="a-page",
        ),
        pytest.param(
            Reply(200, [b'{"text": "\xff\xfe"}']), "malformed_response", "transient", id="no-utf-8"
        ),
        pytest.param(Reply(200, [b"[]"]), "malformed_response", "transient", id="a-list"),
        pytest.param(Reply(200, [b"null"]), "malformed_response", "transient", id="null"),
        pytest.param(
            Reply(302, [b""], headers={"location": "https://evil.example/"}),
            *("unexpected_status", "final"),
            id="elsewhere",
        ),
        pytest.param(
            Reply(502, [b"<html>Bad Gateway</html>"], "text/html"),
            *("server_error", "transient"),
            id="a-proxy",
        ),
        pytest.param(
            Reply(503, [b"busy"], "text/plain", {"retry-after": "9"}),
            *("server_error", "deferred"),
            id="not-now",
        ),
        pytest.param(
            Reply(429, [b"slow down"], "text/plain", {"retry-after": "9"}),
            *("rate_limited", "deferred"),
            id="slow-down",
        ),
    ],
)
def test_what_is_no_reply_of_this_server_is_told_by_what_it_is(
    speaks: Speaks, reply: Reply, kind: str, disposition: str
) -> None:
    error = error_of(speaks, reply)
    assert (error.kind, error.disposition, error.status) == (kind, disposition, reply.status)
    assert error.retry_after_s == (9.0 if "retry-after" in reply.headers else None)


@every("speaks", PROVIDERS)
def test_a_server_may_answer_whole_where_it_was_asked_to_stream(speaks: Speaks) -> None:
    example = speaks.examples["answer"]
    came, _, _ = asked(speaks, example.reply, stream=True)
    assert isinstance(came, Answer) and came.text == example.text


@every("speaks", STREAMS)
def test_events_that_hold_no_json_are_no_stream(speaks: Speaks) -> None:
    example = speaks.examples["stream"]
    broken = Reply(200, [b"data: {]\n\n{]\n\n"], example.reply.content_type)
    error = error_of(speaks, broken, stream=True)
    assert error.kind in ("malformed_response", "stream_broken")
    assert error.disposition == "transient"


@every(
    ("speaks", "word", "meaning"),
    [
        pytest.param(each, word, meaning, id=f"{each.provider}-{word}")
        for each in SPOKEN
        for word, meaning in each.ends.items()
    ],
)
def test_every_finish_reason_of_the_vendor_is_read(speaks: Speaks, word: str, meaning: str) -> None:
    reply = speaks.ended(word)
    kind = implementation(speaks)
    came = HttpReply(200, {"content-type": "application/json"}, reply.body, 1.0, datetime.now(UTC))
    if meaning.startswith("!"):
        with pytest.raises(ModelError) as raised:
            kind.read(came, None)
        assert raised.value.kind == meaning.removeprefix("!")
        return
    answer = kind.read(came, None)
    assert (answer.text, answer.finish_reason) == ("Fir", meaning)


@every("speaks", STREAMS)
def test_what_keeps_a_stream_alive_and_what_a_later_version_adds_is_no_part_of_it(
    speaks: Speaks,
) -> None:
    example = speaks.examples["stream"]
    first, *between, last = example.reply.pieces
    pieces = [
        first,
        *(part for each in between for part in (speaks.noise, each)),
        speaks.noise,
        last,
    ]
    noisy = Reply(200, pieces, example.reply.content_type, example.reply.headers)
    came, server, _ = asked(speaks, noisy, stream=True)
    assert isinstance(came, Answer), came
    assert (came.text, came.usage, came.finish_reason) == (
        example.text, example.usage, example.finish_reason,
    )  # fmt: skip
    assert came.body == server.sent == noisy.body


_DATE = "Tue, 24 Nov 2026 12:00:00 GMT"


@every(
    ("headers", "wait_s"),
    [
        pytest.param({"retry-after": "0"}, 0.0, id="at-once"),
        pytest.param({"retry-after": "1.5"}, 1.5, id="a-fraction"),
        pytest.param(
            {"retry-after": "Tue, 24 Nov 2026 12:00:30 GMT", "date": _DATE}, 30.0, id="a-date"
        ),
        pytest.param({"retry-after": _DATE, "date": _DATE}, 0.0, id="now"),
        pytest.param({"retry-after": "1", "retry-after-ms": "250"}, 0.25, id="milliseconds"),
        pytest.param({"retry-after": "3", "retry-after-ms": "soon"}, 3.0, id="no-milliseconds"),
        pytest.param({"retry-after": "-1"}, None, id="less-than-nothing"),
        pytest.param({"retry-after": "soon"}, None, id="no-number"),
        pytest.param({"retry-after": "9" * 400}, 366 * 86_400.0, id="too-long"),
    ],
)
@every("speaks", PROVIDERS)
def test_a_server_says_in_whatever_form_how_long_it_wants_to_be_left_alone(
    speaks: Speaks, headers: dict[str, str], wait_s: float | None
) -> None:
    kind = implementation(speaks)
    reply = HttpReply(429, headers, b"slow down", 1.0, datetime.now(UTC))
    with pytest.raises(ModelError) as raised:
        kind.read(reply, None)
    assert (raised.value.disposition, raised.value.retry_after_s) == ("deferred", wait_s)
    assert kept_headers(headers).items() >= headers.items() - {("date", _DATE)}


@WHOLE_AND_STREAMED
def test_an_answer_costs_what_its_vendor_charges(speaks: Speaks, name: str) -> None:
    usage = speaks.examples[name].usage
    prices = ModelPrices(model_key="m", source="a list", listed_as="m", rates=(RATE,))
    cost = cost_usd(prices, usage, datetime.now(UTC))
    assert cost == Decimal(str(round(speaks.costs, 1))) / 10**6
