"""How long a server wants to be left alone, in the words of every provider."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.models.http_reply import HttpReply, kept_headers
from failproof_es.models.protocol import ModelError
from failproof_es.models.providers.openai.provider import OpenAIProvider
from failproof_es.models.replies.stated_waits import (
    LONGEST_S,
    duration_s,
    reset_s,
    stated_wait,
)
from tests.every import every

NOW = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)
HTTP_NOW = "Sat, 28 Nov 2026 12:00:00 GMT"
EPOCH = 1_795_867_200
Headers = dict[str, str]


def wait_s(headers: Headers, error: Any = None, *, at_limit: bool = True) -> float | None:
    wait = stated_wait(headers, error, NOW, at_limit=at_limit)
    return None if wait is None else wait.seconds


@every(
    ("value", "seconds"),
    [
        ("6m0s", 360.0),
        ("500ms", 0.5),
        ("1h2m3.5s", 3723.5),
        ("2m59.56s", 179.56),
        ("1d", 86_400.0),
        ("1m 30s", 90.0),
        ("250us", 0.00025),
        ("7µs", 0.000007),
        ("30", 30.0),
        ("0.25", 0.25),
        (str(EPOCH + 60), 60.0),
        (str((EPOCH + 60) * 1000), 60.0),
        (str((EPOCH + 60) * 1_000_000), 60.0),
        (str((EPOCH + 60) * 1_000_000_000), 60.0),
        (f"{EPOCH + 60}.5", 60.5),
        ("2026-11-28T12:00:20Z", 20.0),
        ("2026-11-28T12:00:20.5+00:00", 20.5),
        ("2026-11-28T13:00:20+01:00", 20.0),
        ("Sat, 28 Nov 2026 12:00:30 GMT", 30.0),
    ],
)
def test_a_reset_is_read_in_whatever_form_it_is_written(value: str, seconds: float) -> None:
    assert reset_s(value, NOW) == pytest.approx(seconds, abs=1e-3)


@every(
    "value",
    [
        *("", "soon", "-5", "-6m0s", "NaN", "inf", "1e9", "0x10", "6m0", "m", "s6", "6 minutes"),
        *("9" * 400, "9" * 90, "9999-12-31T00:00:00Z", "2026-13-45T99:00:00Z", "400d", "²"),
        *("1s" * 200, "6m0s; drop"),
    ],
)
def test_nonsense_holds_nobody(value: str) -> None:
    assert reset_s(value, NOW) is None
    assert wait_s({"x-ratelimit-reset-requests": value}) is None


@every("value", ["0", "0s", str(EPOCH - 60), "2020-01-01T00:00:00Z"])
def test_what_is_over_takes_no_time(value: str) -> None:
    assert reset_s(value, NOW) == 0.0


@given(st.integers(0, 400), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_a_duration_of_go_is_the_sum_of_its_parts(h: int, m: int, s: int, ms: int) -> None:
    written = f"{h}h{m}m{s}.{ms:03}s"
    assert duration_s(written) == pytest.approx(h * 3600 + m * 60 + s + ms / 1000)


@given(st.timedeltas(min_value=timedelta(seconds=1), max_value=timedelta(days=300)))
def test_every_form_of_one_moment_says_the_same(ahead: timedelta) -> None:
    seconds = ahead.total_seconds()
    moment = NOW + ahead
    forms = (
        moment.isoformat(),
        f"{moment.timestamp():.6f}",
        str(round(moment.timestamp() * 1000)),
        f"{seconds:.6f}" if seconds < 1e7 else f"{seconds / 3600:.9f}h",
        f"{seconds:.6f}s",
    )
    for form in forms:
        assert reset_s(form, NOW) == pytest.approx(seconds, abs=0.01), form


@given(st.text(max_size=40) | st.floats().map(str) | st.integers().map(str))
def test_no_value_holds_longer_than_a_year_or_less_than_nothing(value: str) -> None:
    seconds = reset_s(value, NOW)
    assert seconds is None or 0.0 <= seconds <= LONGEST_S


REQUESTS = {"x-ratelimit-reset-requests": "6m0s"}
TOKENS = {"x-ratelimit-reset-tokens": "500ms"}


@every(
    ("headers", "error", "seconds"),
    [
        (REQUESTS, None, 360.0),
        (TOKENS, None, 0.5),
        (REQUESTS | TOKENS, None, 360.0),
        (REQUESTS | TOKENS | {"x-ratelimit-remaining-requests": "0"}, None, 360.0),
        (
            REQUESTS
            | TOKENS
            | {"x-ratelimit-remaining-requests": "59", "x-ratelimit-remaining-tokens": "0"},
            None,
            0.5,
        ),
        (
            REQUESTS
            | TOKENS
            | {"x-ratelimit-remaining-requests": "59", "x-ratelimit-remaining-tokens": "7"},
            {"type": "tokens"},
            0.5,
        ),
        (
            REQUESTS
            | TOKENS
            | {"x-ratelimit-remaining-requests": "59", "x-ratelimit-remaining-tokens": "7"},
            {"type": "rate_limit_error"},
            None,
        ),
        (REQUESTS | {"retry-after": "2"}, None, 2.0),
        (REQUESTS | {"retry-after-ms": "1500"}, None, 1.5),
        (REQUESTS | {"retry-after": "0"}, None, 360.0),
        (REQUESTS | {"retry-after": "soon"}, None, 360.0),
        ({"retry-after": "Sat, 28 Nov 2026 12:00:30 GMT"}, None, 30.0),
        (
            {
                "anthropic-ratelimit-requests-reset": "2026-11-28T12:00:20Z",
                "anthropic-ratelimit-input-tokens-reset": "2026-11-28T12:00:50Z",
                "anthropic-ratelimit-input-tokens-remaining": "29000",
            },
            None,
            20.0,
        ),
        ({"x-ratelimit-reset": str((EPOCH + 60) * 1000)}, None, 60.0),
        ({"x-ratelimit-reset": str(EPOCH + 60), "x-ratelimit-remaining": "0"}, None, 60.0),
        ({"x-ratelimit-reset": "45"}, None, 45.0),
        ({"ratelimit-reset": "45", "ratelimit-remaining": "0"}, None, 45.0),
        ({"x-ratelimit-reset-tokens-minute": "3s"}, None, 3.0),
        (
            {},
            {"metadata": {"headers": {"X-RateLimit-Reset": str((EPOCH + 60) * 1000)}}},
            60.0,
        ),
        ({}, {"details": [{"@type": "x", "retryDelay": "30s"}]}, 30.0),
        ({}, {"details": [{"retryDelay": "1.5s"}, {"retryDelay": "90s"}]}, 90.0),
        ({}, {"retry_after": 3}, 3.0),
        ({"retry-after": "2s"}, None, 2.0),
        ({"retry-after": "1m 30s"}, None, 90.0),
        ({"ratelimit": '"default";r=0;t=2'}, None, 2.0),
        ({"ratelimit": '"day"; r=0; t=60, "hour"; r=5; t=90'}, None, 60.0),
        ({"ratelimit": '"t=9,";r=0;t=1'}, None, 1.0),
        ({"ratelimit": "burst;r=0;t=4,day;r=3;t=9"}, None, 4.0),
        ({"ratelimit": '"default";t=7'}, None, 7.0),
        ({"ratelimit": "limit=10, remaining=0, reset=5"}, None, 5.0),
        ({"ratelimit": "limit=10, remaining=3, reset=5"}, None, None),
        ({"ratelimit": '"default";r=0'}, None, None),
        ({"ratelimit": '"default";r=0;t=99999999999'}, None, None),
        ({"ratelimit": "soon"}, None, None),
        ({}, {"metadata": {"retry_after_ms": 250}}, 0.25),
        ({}, {"details": [{"retryDelay": "later"}, 7, None], "metadata": [], "headers": 1}, None),
        ({}, "busy", None),
        ({}, None, None),
    ],
)
def test_the_wait_is_that_of_the_limits_which_are_exhausted(
    headers: Headers, error: Any, seconds: float | None
) -> None:
    assert wait_s(headers, error) == (None if seconds is None else pytest.approx(seconds, abs=1e-3))


@every(
    ("said", "seconds"),
    [
        ("Rate limit reached for m on requests per min. Please try again in 3.2s.", 3.2),
        ("Please try again in 350ms", 0.35),
        ("Please try again in 1m2s. Visit https://example.com to learn more.", 62.0),
        ("Please try again in 7m54.336s", 474.336),
        ("Please retry after 26 seconds.", 26.0),
        ("Please retry in 25.767s.", 25.767),
        ("Please wait 10 seconds", 10.0),
        ("TRY AGAIN IN 1 MINUTE AND 30 SECONDS", 90.0),
        ("Limit: 20 / day. Try again in 2 hours, 5 mins", 7_500.0),
        ("Please wait for 1 day.", 86_400.0),
        ("try again in 3 months", None),
        ("try again in 12", None),
        ("try again later", None),
        ("retry 3 times", None),
        ("It took 3s. Try another model.", None),
        ("try again in 999999999 hours", None),
    ],
)
def test_a_wait_in_a_sentence_is_one(said: str, seconds: float | None) -> None:
    expected = None if seconds is None else pytest.approx(seconds)
    for error in (said, {"message": said}, {"detail": said}, {"metadata": {"raw": said}}):
        assert wait_s({}, error) == expected
    assert wait_s({}, {"message": said}, at_limit=False) is None
    assert wait_s({"retry-after": "5"}, {"message": said}) == 5.0


@given(st.text(max_size=40), st.integers(0, 10**6), st.sampled_from(["ms", "s", "m", "seconds"]))
def test_a_sentence_holds_nobody_longer_than_a_year(before: str, number: int, unit: str) -> None:
    waited = wait_s({}, {"message": f"{before} try again in {number} {unit}"})
    assert waited is None or 0.0 <= waited <= LONGEST_S


def test_a_moment_is_one_of_the_clock_of_the_server_that_names_it() -> None:
    behind = {"date": "Sat, 28 Nov 2026 11:00:00 GMT"}
    ahead = {"anthropic-ratelimit-requests-reset": "2026-11-28T11:00:20Z"}
    assert wait_s(behind | ahead) == 20.0
    assert wait_s(behind | {"x-ratelimit-reset": str(EPOCH - 3600 + 20)}) == 20.0


def test_limits_of_a_reply_that_reached_none_only_inform() -> None:
    assert wait_s(REQUESTS, at_limit=False) is None
    assert wait_s({}, {"details": [{"retryDelay": "5s"}]}, at_limit=False) == 5.0


def refused(status: int, headers: Headers, error: Any) -> ModelError:
    body = orjson.dumps({"error": error})
    with pytest.raises(ModelError) as raised:
        OpenAIProvider.read(HttpReply(status, kept_headers(headers), body, 1.0, NOW), None)
    return raised.value


@every(("status", "waits"), [(429, 360.0), (529, 360.0), (500, None), (400, None)])
def test_an_error_says_how_long_and_by_which_words(status: int, waits: float | None) -> None:
    error = refused(status, {"X-RateLimit-Reset-Requests": "6m0s"}, {"message": "slow down"})
    assert error.retry_after_s == waits
    assert ("(x-ratelimit-reset-requests: 6m0s)" in error.message) == (waits is not None)


def test_an_error_under_status_200_waits_by_the_same_words() -> None:
    error = refused(200, {"X-RateLimit-Reset": "45"}, {"code": 429, "message": "slow down"})
    assert (error.disposition, error.retry_after_s) == ("deferred", 45.0)


@every(
    "name",
    [
        *("X-RateLimit-Reset", "X-Ratelimit-Reset-Tokens", "RateLimit-Reset"),
        *("Anthropic-Ratelimit-Requests-Reset", "X-Rate-Limit-Reset"),
    ],
)
def test_the_headers_that_are_acted_upon_are_on_record(name: str) -> None:
    assert kept_headers({name: "5"}) == {name.lower(): "5"}
