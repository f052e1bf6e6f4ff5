"""A body in an event: exact to the last byte, and never much longer than it came."""

from __future__ import annotations

from base64 import b64decode

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core.reply_body import body_text, raw_body, whole_body
from failproof_es.events import ResponseReceived
from failproof_es.store.mapper import encode
from tests.unit.event_samples import ATTEMPT, OF_EVALUATION

EMPTY = ResponseReceived(
    **OF_EVALUATION, **ATTEMPT, status=200, headers={}, body="", text="", latency_ms=1.0
)


def event(body: bytes) -> ResponseReceived:
    return EMPTY.model_copy(update=whole_body(body))


@given(st.binary() | st.text().map(str.encode) | st.text('\x00\x01\n"\\\\aé').map(str.encode))
def test_every_body_comes_back_to_the_last_byte_and_in_the_shorter_encoding(body: bytes) -> None:
    recorded = event(body)
    assert raw_body(recorded) == body
    assert len(encode(recorded)) - len(encode(EMPTY)) <= -(-len(body) // 3) * 4 + 1
    try:
        as_text = len(orjson.dumps(body.decode())) - 2
    except UnicodeDecodeError:
        assert recorded.body_encoding == "base64"
        return
    assert (recorded.body_encoding == "utf-8") == (as_text <= -(-len(body) // 3) * 4)
    assert body_text(recorded) == body.decode()


@pytest.mark.parametrize("byte", [b"\x00", b"\xff", b'"', b"\x1b"])
def test_a_body_that_json_would_write_six_times_as_long_is_no_third_longer(byte: bytes) -> None:
    assert len(encode(event(byte * 3_000_000))) < 4_001_000


def test_a_body_that_is_no_text_is_shown_in_base64() -> None:
    shown = body_text(event(b"\xff\xfe"))
    assert shown is not None and b64decode(shown) == b"\xff\xfe"
