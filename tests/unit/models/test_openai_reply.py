"""A 200 is not yet an answer, and an error says whether asking again makes sense."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.events import Usage
from failproof_es.models.backoff import LONGEST_BACKOFF_S, wait_s
from failproof_es.models.http_reply import HttpReply, kept_headers
from failproof_es.models.protocol import Answer, ModelError
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.models.replies.stated_waits import retry_after_s
from tests.every import every

YEAR_S = 366 * 86_400.0
NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def reply(message: Any, **more: Any) -> bytes:
    return orjson.dumps({"choices": [{"message": message, "finish_reason": "stop"}], **more})


def read(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    return OpenAIProvider.read(HttpReply(status, headers or {}, body, 1.0, NOW), None)


def failure(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        read(body, status, headers)
    assert caught.value.body == body
    return caught.value


@every(
    ("body", "why"),
    [
        (b"<html>", "the reply is not JSON that can be read: "),
        (b'{"a": ' + b"9" * 5_000 + b"}", "the reply is not JSON that can be read: "),
        (b"[1]", "the reply is not a JSON object"),
    ],
)
def test_json_that_cannot_be_read_is_told_from_json_that_is_no_object(
    body: bytes, why: str
) -> None:
    assert failure(body).message.startswith(why)


def test_an_answer_with_all_that_came_with_it() -> None:
    usage = {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "prompt_tokens_details": {"cached_tokens": 1},
    }
    answer = read(reply({"content": "hi"}, model="m-1", id="r", usage=usage))
    assert (answer.text, answer.model, answer.provider_request_id) == ("hi", "m-1", "r")
    assert answer.usage == Usage(input_tokens=3, output_tokens=2, cached_input_tokens=1)


def test_an_empty_text_is_an_answer() -> None:
    assert read(reply({"content": ""})).text == ""


def test_the_text_parts_of_a_list_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    assert read(reply({"content": parts})).text == "ab"


def test_a_refusal_without_content_is_an_answer() -> None:
    answer = read(reply({"content": None, "refusal": "No."}))
    assert (answer.text, answer.refusal) == ("", "No.")


@every(
    ("body", "kind", "disposition"),
    [
        (b"", "malformed_response", "transient"),
        (b"[]", "malformed_response", "transient"),
        (b'{"choices": [{"mess', "malformed_response", "transient"),
        (b'\xff\xfe{"choices"', "malformed_response", "transient"),
        (b'{"choices": [7]}', "malformed_response", "transient"),
        (b'{"choices": []}', "empty_choices", "transient"),
        (b'{"choices": {}}', "empty_choices", "transient"),
        (b"{}", "empty_choices", "transient"),
        (b'{"choices": [{"message": {"content": null}}]}', "missing_content", "transient"),
        (b'{"choices": [{"message": {}}]}', "missing_content", "transient"),
        (b'{"choices": [{"message": null}]}', "malformed_response", "transient"),
        (b'{"choices": [{"text": 7, "finish_reason": "stop"}]}', "missing_content", "transient"),
        (reply({"content": 7}), "missing_content", "transient"),
        (b'{"error": {"message": "odd input"}}', "provider_error", "final"),
        (b'{"error": {"message": "overloaded_error"}}', "provider_error", "transient"),
        (b'{"error": {"code": 503}}', "provider_error", "transient"),
        (b'{"error": {"type": "overloaded_error"}}', "overloaded", "deferred"),
        (b'{"error": {"code": 429}}', "rate_limited", "deferred"),
        (b'{"error": {"code": "rate_limit_exceeded"}}', "rate_limited", "deferred"),
        (b'{"error": {"code": 529, "message": "busy"}}', "overloaded", "deferred"),
        (b'{"error": "no"}', "provider_error", "final"),
        (b'{"error": ' + b"[" * 600 + b"]" * 600 + b"}", "malformed_response", "transient"),
    ],
)
def test_what_a_200_can_be_instead_of_an_answer(body: bytes, kind: str, disposition: str) -> None:
    error = failure(body)
    assert (error.kind, error.disposition) == (kind, disposition)


@every(
    ("status", "kind", "disposition"),
    [
        (301, "unexpected_status", "final"),
        (400, "bad_request", "final"),
        (401, "authentication", "halting"),
        (402, "payment_required", "halting"),
        (403, "bad_request", "final"),
        (404, "not_found", "halting"),
        (408, "timeout", "transient"),
        (422, "bad_request", "final"),
        (413, "bad_request", "final"),
        (429, "rate_limited", "deferred"),
        (498, "overloaded", "deferred"),
        (499, "timeout", "transient"),
        (500, "server_error", "transient"),
        (503, "server_error", "transient"),
        (529, "overloaded", "deferred"),
    ],
)
def test_what_a_status_means(status: int, kind: str, disposition: str) -> None:
    error = failure(b"<html>", status)
    assert (error.kind, error.disposition, error.status) == (kind, disposition, status)


LIMITED = {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}


@every("error", [LIMITED, {"error": {"type": "rate_limit_error"}}])
@every("status", [400, 403, 422, 429, 500])
def test_a_limit_is_one_under_whatever_status_it_comes(status: int, error: Any) -> None:
    came = failure(orjson.dumps(error), status, {"retry-after": "2"})
    assert (came.kind, came.disposition, came.status) == ("rate_limited", "deferred", status)
    assert came.retry_after_s == 2.0


def test_a_code_that_means_no_limit_changes_no_status() -> None:
    error = failure(b'{"error": {"code": "invalid_request_error", "type": "api_error"}}', 500)
    assert (error.kind, error.disposition) == ("server_error", "transient")


@every(
    ("status", "said", "disposition"),
    [
        (500, "false", "final"),
        (503, " False ", "final"),
        (400, "true", "transient"),
        (500, "true", "transient"),
        (500, "maybe", "transient"),
        (500, "", "transient"),
        (429, "false", "final"),
        (429, "true", "deferred"),
        (401, "true", "halting"),
        (200, "false", "transient"),
    ],
)
def test_a_server_says_whether_asking_again_makes_sense(
    status: int, said: str, disposition: str
) -> None:
    headers = {"x-should-retry": said}
    assert failure(b"{}", status, headers).disposition == disposition
    if status in (429, 503):  # it states a wait, too
        assert failure(b"{}", status, {**headers, "retry-after": "9"}).disposition == "deferred"


@every(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("1.5", 1.5),
        ("Sat, 21 Nov 2026 12:00:30 GMT", 30.0),
        ("Sat, 21 Nov 2026 11:00:00 GMT", 0.0),
        ("Saturday, 21-Nov-26 12:00:30 GMT", 30.0),
        ("Sat Nov 21 12:00:30 2026", 30.0),
        ("1000000000000", YEAR_S),
        ("9" * 400, YEAR_S),
        ("Sat, 21 Nov 9999 12:00:30 GMT", YEAR_S),
        ("soon", None),
        ("²", None),
        ("-3", None),
        ("nan", None),
        ("inf", None),
        ("1e999", None),
        ("0x10", None),
        ("1,000", None),
        ("Sat, 21 Nov 2026 12:00:30 +99999999999", None),
        ("Sat, 32 Nov 2026 25:61:61 GMT", None),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("", None),
    ],
)
def test_retry_after_in_both_forms(value: str, seconds: float | None) -> None:
    assert retry_after_s({"retry-after": value}, NOW) == seconds


def test_a_date_is_taken_against_the_clock_of_the_server_that_wrote_it() -> None:
    headers = {
        "retry-after": "Fri, 20 Nov 2026 09:00:30 GMT",
        "date": "Fri, 20 Nov 2026 09:00:00 GMT",
    }
    assert retry_after_s(headers, NOW) == 30.0


def test_an_unreadable_date_of_the_server_leaves_our_own_clock() -> None:
    headers = {"retry-after": "Sat, 21 Nov 2026 12:00:30 GMT", "date": "today"}
    assert retry_after_s(headers, NOW) == 30.0


@every("status", [500, 502, 503, 504, 408])
def test_only_a_503_that_says_when_to_come_back_was_turned_away_untried(status: int) -> None:
    error = failure(b"", status, {"retry-after": "7"})
    assert error.retry_after_s == 7.0
    assert error.disposition == ("deferred" if status == 503 else "transient")


@given(st.text(max_size=60) | st.integers().map(str) | st.floats().map(str) | st.dates().map(str))
def test_no_retry_after_is_outside_of_a_year(value: str) -> None:
    seconds = retry_after_s({"retry-after": value}, NOW)
    assert seconds is None or 0.0 <= seconds <= YEAR_S


@every("said", ["-1", "2.5", "true", '"9"', "1000000001", "36893488147419103232"])
def test_what_no_tokenizer_counts_is_not_known(said: str) -> None:
    body = b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": %b}}'
    assert read(body % said.encode()).usage == Usage()


def test_more_tokens_from_a_cache_than_were_read_are_no_count() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 4}}
    for read_tokens, cached in ((4, 4), (3, None), (None, None)):
        usage = read(reply({"content": "x"}, usage={"prompt_tokens": read_tokens, **details})).usage
        assert usage == Usage(input_tokens=read_tokens, cached_input_tokens=cached)


def test_tokens_that_were_written_to_a_cache_are_counted_and_never_more_than_were_read() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 2, "cache_write_tokens": 3}}
    for read_tokens, cached, written in ((5, 2, 3), (4, None, None)):
        usage = read(reply({"content": "x"}, usage={"prompt_tokens": read_tokens, **details})).usage
        assert usage == Usage(
            input_tokens=read_tokens, cached_input_tokens=cached, cache_write_tokens=written
        )


def test_only_listed_headers_are_kept() -> None:
    given_headers = {"X-Request-Id": "r", "Set-Cookie": "s", "X-RateLimit-Remaining": "1"}
    assert kept_headers(given_headers) == {"x-request-id": "r", "x-ratelimit-remaining": "1"}


@given(st.binary(max_size=200), st.integers(min_value=100, max_value=599))
def test_no_bytes_raise_anything_but_a_model_error(body: bytes, status: int) -> None:
    try:
        read(body, status)
    except ModelError as error:
        assert error.body == body


@given(
    st.integers(min_value=1, max_value=50),
    st.integers(min_value=0, max_value=10_000),
    st.none() | st.floats(min_value=0, max_value=1000),
)
def test_waiting_is_bounded_and_never_earlier_than_told(
    failures: int, delay_ms: int, after: float | None
) -> None:
    waited = wait_s(failures, delay_ms, after)
    assert waited >= (after or 0.0)
    assert waited <= max(LONGEST_BACKOFF_S + delay_ms / 1000, after or 0.0)


@every("failures", range(1, 6))
def test_each_wait_is_twice_the_one_before_and_a_random_part_more(failures: int) -> None:
    least = 2.0 ** (failures - 1)
    waits = {wait_s(failures, 1_000, None) for _ in range(50)}
    assert least <= min(waits) and max(waits) <= least + 0.5
    assert len(waits) > 1, "all would come back at once"
