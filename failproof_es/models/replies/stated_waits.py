"""Reads how long a server asks a client to wait, in the forms of all providers. Pure.

A server states a wait (`Retry-After`, `Retry-After-Ms`, Google's `retryDelay`), or the time when
each limit resets: `x-ratelimit-reset-requests: 6m0s`, `X-RateLimit-Reset` as a timestamp or in
seconds, `anthropic-ratelimit-tokens-reset` as a date, `RateLimit: "day";r=0;t=60`. Some gateways
pass on such headers in the body of an error, and some vendors write a sentence: `Please try again
in 6m0s`. Only exhausted limits count; of several, the one with the longest wait.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

LONGEST_S = 366 * 86_400.0
"""The longest wait that is accepted, one year."""
LIMIT_HEADERS = ("x-ratelimit", "x-rate-limit-", "ratelimit", "anthropic-ratelimit-")
"""Prefixes of the headers that state limits."""

_SECONDS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_LONGEST_VALUE = 100
_UNITS = {
    "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3,
    "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0,
}  # fmt: skip
_NUMBER, _UNIT = r"[0-9]{1,15}(?:\.[0-9]{1,15})?", "|".join(_UNITS)
_PART = re.compile(rf"({_NUMBER}) ?({_UNIT})")
_DURATION = re.compile(rf"(?:{_NUMBER} ?(?:{_UNIT}) ?)+")
_EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3), (1e8, 1.0))
"""The least number that is a Unix timestamp in a unit, and the unit in seconds."""
_RESET = re.compile(r"(?:\b|(?<=-))reset\b")
_DELAYS = {
    "retrydelay": 1.0,
    "retry_after": 1.0,
    "retryafter": 1.0,
    "retry_after_seconds": 1.0,
    "retry_after_ms": 1e-3,
    "retryafterms": 1e-3,
}
"""Fields of an error that state a wait, and the unit, in seconds, of a plain number."""
_MOST_DETAILS = 100
_SENTENCES = ("message", "detail", "raw")
"""Fields of an error that hold a sentence; in `raw` a gateway quotes the vendor's own error."""
_LONGEST_SENTENCE = 10_000
_SPOKEN_UNITS = {
    **dict.fromkeys(("millisecond", "msec"), 1e-3),
    **dict.fromkeys(("second", "sec"), 1.0),
    **dict.fromkeys(("minute", "min"), 60.0),
    **dict.fromkeys(("hour", "hr"), 3_600.0),
    "day": 86_400.0,
}
_SPOKEN_UNIT = rf"(?:{'|'.join(_SPOKEN_UNITS)})s?|{_UNIT}"
_SPOKEN_PART = re.compile(rf"({_NUMBER}) ?({_SPOKEN_UNIT})")
_SPOKEN = re.compile(
    rf"\b(?:try(?: (?:it|your request))? again|retry(?: your request)?|wait)(?: (?:in|after|for))?"
    rf" ((?:{_NUMBER} ?(?:{_SPOKEN_UNIT})(?:,? and |, ?| )?){{1,6}})(?![a-z0-9])"
)
"""The request of an error message to retry, and the duration in it."""
_QUOTED = re.compile(r'"[^"]*"')
_QUOTA = re.compile(r"\b(r|remaining|t|reset) ?= ?([0-9]{1,15})(?![0-9.])")
_RATE_LIMIT = "ratelimit"
_LONGEST_QUOTAS = 1_000


@dataclass(frozen=True, slots=True)
class StatedWait:
    """A wait, and the wording that states it."""

    seconds: float
    words: str = ""
    """`name: value` of the field, or the sentence; empty for `Retry-After`."""


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """`Retry-After` in seconds, from either form (RFC 9110 § 10.2.3) or a duration (`2s`).

    At most a year; `None` without a readable value. A date is by the server's clock: the reply's
    `Date` is subtracted, or `now` without one. `Retry-After-Ms`, which some vendors send in
    addition, is more exact and wins.
    """
    exact = headers.get("retry-after-ms", "").strip()
    if _SECONDS.fullmatch(exact):
        return min(float(exact) / 1000, LONGEST_S)
    value = headers.get("retry-after", "").strip()
    seconds = float(value) if _SECONDS.fullmatch(value) else duration_s(value)
    if seconds is not None:
        return min(seconds, LONGEST_S)
    moment = _http_date(value)
    if moment is None:
        return None
    return min(max(0.0, (moment - _server_time(headers, now)).total_seconds()), LONGEST_S)


def stated_wait(
    headers: Mapping[str, str], error: Any, now: datetime, *, at_limit: bool
) -> StatedWait | None:
    """The wait that a reply with these headers and this error object states; `None` without one.

    `at_limit`: the reply reports a reached limit; otherwise headers of limits do not count.
    `Retry-After` has precedence over all others, unless it is 0. `now` is when the reply was
    received.
    """
    seconds = retry_after_s(headers, now)
    if seconds:
        return StatedWait(seconds)
    at = _server_time(headers, now)
    waits = list(_delay_waits(error))
    if at_limit:
        words = _type_and_code(error)
        for limits in (headers, *_forwarded_headers(error)):
            waits += _reset_waits(limits, at, words)
            waits += _quota_waits(limits.get(_RATE_LIMIT, ""))
        waits += _sentence_waits(error)
    if waits:
        return max(waits, key=lambda wait: wait.seconds)
    return None if seconds is None else StatedWait(seconds)


def duration_s(value: str) -> float | None:
    """Seconds of a duration in the form of Go and protobuf: `6m0s`, `500ms`, `1h2m3.5s`.

    `None` for any other text.
    """
    text = value.strip()
    if len(text) > _LONGEST_VALUE or _DURATION.fullmatch(text) is None:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))


def reset_s(value: str, now: datetime) -> float | None:
    """Seconds until a limit resets, 0 if that is past; `None` for an implausible value.

    The value is a duration, a date (of RFC 3339 or HTTP), or a number: seconds, or a Unix timestamp
    in seconds, milliseconds, microseconds or nanoseconds.
    """
    text = value.strip()
    if len(text) > _LONGEST_VALUE:
        return None
    seconds = duration_s(text)
    if seconds is None and _SECONDS.fullmatch(text):
        seconds = float(text)
        for least, unit in _EPOCHS:
            if seconds >= least:
                seconds = seconds * unit - now.timestamp()
                break
    if seconds is None and (moment := _parse_date(text)) is not None:
        seconds = (moment - now).total_seconds()
    if seconds is None or seconds > LONGEST_S:
        return None
    return max(0.0, seconds)


# -- limits ----------------------------------------------------------------------------------


def _reset_waits(limits: Mapping[str, str], now: datetime, words: str) -> Iterator[StatedWait]:
    """Yield the waits for the resets of exhausted limits; `limits` are headers of a reply.

    A limit without a `remaining` count is taken for exhausted. If no limit is exhausted, the limits
    that `words`, the error's type and code, name count.
    """
    resets: dict[str, StatedWait] = {}
    remaining: dict[str, float | None] = {}
    for name, value in limits.items():
        if not name.startswith(LIMIT_HEADERS) or _RESET.search(name) is None:
            continue
        if (seconds := reset_s(value, now)) is None:
            continue
        limit = _RESET.sub("remaining", name)
        resets[limit] = StatedWait(seconds, f"{name}: {value.strip()}")
        remaining[limit] = _parse_number(limits.get(limit))
    exhausted = [limit for limit in resets if not remaining[limit]]
    yield from (resets[limit] for limit in exhausted or _limits_named_in(words, resets))


def _quota_waits(value: str) -> Iterator[StatedWait]:
    """Yield the waits of exhausted limits in one header (draft-ietf-httpapi-ratelimit-headers).

    `"day";r=0;t=60, "hour";r=5;t=9`; before draft version 8 `limit=9, remaining=0, reset=60`.
    """
    plain = _QUOTED.sub('""', value[:_LONGEST_QUOTAS])
    for limit in plain.split(",") if ";" in plain else (plain,):
        counts = {name[:3]: int(number) for name, number in _QUOTA.findall(limit)}
        seconds = counts.get("t", counts.get("res"))
        remaining = counts.get("r", counts.get("rem", 0))
        if seconds is not None and seconds <= LONGEST_S and not remaining:
            yield StatedWait(float(seconds), f"{_RATE_LIMIT}: {value[:_LONGEST_QUOTAS].strip()}")


def _limits_named_in(words: str, limits: Iterable[str]) -> list[str]:
    """The limits that the error's `words` name.

    `tokens` names a header that ends in `remaining-tokens`.
    """
    kinds = {limit: limit.rpartition("remaining")[2].strip("-") or limit for limit in limits}
    return [limit for limit, kind in kinds.items() if kind.partition("-")[0] in words.split()]


def _parse_number(value: str | None) -> float | None:
    text = (value or "").strip()
    return float(text) if len(text) <= _LONGEST_VALUE and _SECONDS.fullmatch(text) else None


# -- errors ----------------------------------------------------------------------------------


def _error_objects(error: Any) -> Iterator[dict[str, Any]]:
    """An error object, its `metadata` and its `details`."""
    if not isinstance(error, dict):
        return
    yield error
    if isinstance(metadata := error.get("metadata"), dict):
        yield metadata
    details = error.get("details")
    if isinstance(details, list):
        yield from (detail for detail in details[:_MOST_DETAILS] if isinstance(detail, dict))


def _delay_waits(error: Any) -> Iterator[StatedWait]:
    """The waits in fields of an error that state one (`_DELAYS`)."""
    for described in _error_objects(error):
        for name, value in described.items():
            unit = _DELAYS.get(name.lower())
            if unit is not None and (seconds := _delay_s(value, unit)) is not None:
                yield StatedWait(min(seconds, LONGEST_S), f"{name}: {value}")


def _sentence_waits(error: Any) -> Iterator[StatedWait]:
    """The waits in the sentences of an error: `Please try again in 1m2.5s.`"""
    sentences = (
        [described.get(name) for described in _error_objects(error) for name in _SENTENCES]
        if isinstance(error, dict)
        else [error]
    )
    for sentence in sentences:
        if not isinstance(sentence, str):
            continue
        match = _SPOKEN.search(sentence[:_LONGEST_SENTENCE].lower())
        if match is None:
            continue
        seconds = sum(
            float(number) * (_UNITS.get(unit) or _SPOKEN_UNITS[unit.removesuffix("s")])
            for number, unit in _SPOKEN_PART.findall(match[1])
        )
        if seconds <= LONGEST_S:
            yield StatedWait(seconds, match[0].strip())


def _delay_s(value: Any, unit: float) -> float | None:
    if isinstance(value, str):
        text = value.strip()
        if _SECONDS.fullmatch(text) and len(text) <= _LONGEST_VALUE:
            return float(text) * unit
        return duration_s(text)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) * unit if is_number and 0 <= value <= LONGEST_S / unit else None


def _forwarded_headers(error: Any) -> Iterator[dict[str, str]]:
    """Headers that a gateway passes on in the body of an error, by lower-case name."""
    for described in _error_objects(error):
        headers = described.get("headers")
        if isinstance(headers, dict):
            yield {
                name.lower(): str(value)
                for name, value in headers.items()
                if isinstance(value, str | int | float)
            }


def _type_and_code(error: Any) -> str:
    """The type and the code of an error, which name the reached limit."""
    words = (error.get("type"), error.get("code")) if isinstance(error, dict) else ()
    return " ".join(word.lower() for word in words if isinstance(word, str))


# -- timestamps ------------------------------------------------------------------------------


def _server_time(headers: Mapping[str, str], now: datetime) -> datetime:
    """The server's time by its header `Date`; `now` without one."""
    return _http_date(headers.get("date", "")) or now


def _parse_date(value: str) -> datetime | None:
    """A date of RFC 3339 or of HTTP, in UTC without a time zone; `None` for any other text."""
    try:
        moment = datetime.fromisoformat(value) if value[:4].isdigit() else None
    except ValueError:
        moment = None
    if moment is None:
        return _http_date(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _http_date(value: str) -> datetime | None:
    """A date in any of the three forms of RFC 9110 § 5.6.7; `None` for any other text."""
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
