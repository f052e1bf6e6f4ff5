"""What an attempt leaves behind can be recorded, whatever came of it."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from base64 import b64encode
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

import pytest

from failproof_es.core.evaluation import Evaluation, EvaluationKey, evolve
from failproof_es.core.reply_body import MOST_OF_AN_ERROR, raw_body
from failproof_es.engine.drive.attempt_events import error_recorded, response_received
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.events import ErrorRecorded, RequestSent, ResponseReceived, Withheld
from failproof_es.models.http_reply import HttpReply, read_document
from failproof_es.models.protocol import Answer, ModelError
from failproof_es.store.mapper import decode, encode
from failproof_es.store.writing.event_header import EventHeader
from tests.every import every

STAMP = EventHeader.of_evaluation(EvaluationKey(UUID(int=1), UUID(int=2), "m"))
REQUEST = RequestSent(
    **STAMP(Evaluation()), purpose="target", turn=0, attempt=1, model="m", parameters={},
    endpoint="python:x:Y", body="", body_sha256="",
)  # fmt: skip
SENT = evolve(Evaluation(), REQUEST)


KEY = "sk-canary-0123456789"


@pytest.fixture
def redactor(monkeypatch: pytest.MonkeyPatch) -> Redactor:
    monkeypatch.setenv("CANARY_KEY", KEY)
    return Redactor(["CANARY_KEY"])


def answered(answer: Answer, redactor: Redactor) -> ResponseReceived:
    """The event, as the log gives it back."""
    event = response_received(STAMP, SENT, REQUEST, answer, redactor)
    stored = decode(
        "ResponseReceived", encode(event), event.originator_id, event.originator_version
    )
    assert stored == event
    return event


def failed(error: ModelError, redactor: Redactor) -> ErrorRecorded:
    """The same of an error."""
    event = error_recorded(STAMP, SENT, REQUEST, error, redactor)
    stored = decode("ErrorRecorded", encode(event), event.originator_id, event.originator_version)
    assert stored == event
    return event


def of(body: bytes, why: Literal["long", "secret", "unsearchable"]) -> Withheld:
    return Withheld(why=why, length=len(body), sha256=hashlib.sha256(body).hexdigest())


@every("echoed", ["sk-\n\ncanary-0123456789", r"\u0073k-canary-0123456789", KEY])
def test_a_key_that_an_answer_repeats_takes_the_raw_body_with_it_and_that_is_recorded(
    echoed: str, redactor: Redactor
) -> None:
    body = f'"key: {echoed}!"'.encode()
    event = answered(Answer(200, {"server": "x"}, body, f"key: {KEY}!", 1.0), redactor)
    assert (event.text, event.body) == ("key: [redacted:CANARY_KEY]!", "[redacted:CANARY_KEY]")
    assert event.withheld == of(body, "secret")
    assert [(each.field, each.count) for each in event.redactions] == [("text", 1), ("body", 1)]
    assert b"canary-0" not in encode(event)


def test_a_key_in_a_field_that_nobody_reads_takes_the_raw_body_with_it(redactor: Redactor) -> None:
    body = b'{"debug": {"' + b64encode(f"Bearer {KEY}".encode()) + b'": 1}}'
    event = answered(Answer(200, {}, body, "a", 1.0), redactor)
    assert (event.text, event.body) == ("a", "[redacted:CANARY_KEY]")
    assert event.withheld == of(body, "secret")


def test_a_key_in_a_header_takes_nothing_with_it(redactor: Redactor) -> None:
    event = answered(Answer(200, {"server": KEY}, b"a b", "a b", 1.0), redactor)
    assert event.headers == {"server": "[redacted:CANARY_KEY]"}
    assert (event.body, event.withheld) == ("a b", None)


def test_every_key_of_the_run_is_looked_for_in_every_reply(
    redactor: Redactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-judge-9876543210")
    both = Redactor(["CANARY_KEY", "JUDGE_KEY"])
    event = answered(Answer(200, {}, b"sk-judge-9876543210 " + KEY.encode(), "a", 1.0), both)
    assert event.body == "[redacted:CANARY_KEY] [redacted:JUDGE_KEY]"


def test_a_stand_in_for_a_key_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", "test")
    answer = Answer(200, {}, b'"the word is test"', "the word is test", 1.0)
    event = answered(answer, Redactor(["CANARY_KEY"]))
    assert (event.text, event.body) == ("the word is test", '"the word is test"')
    assert event.redactions == ()


def test_an_answer_of_any_size_is_recorded_to_its_last_character() -> None:
    text = "\x00 \u202e {{x}} é\U0001f600" * 400_000 + " end \n"
    body = f'"{text}"'.encode()
    event = answered(Answer(200, {}, body, text, 1.0), Redactor([]))
    assert event.text == text
    assert (raw_body(event), event.withheld) == (body, None)


def test_all_that_came_with_an_error_is_recorded(redactor: Redactor) -> None:
    try:
        raise ModelError(
            "rate_limited", "HTTP 429: too many", "deferred", status=429,
            headers={"retry-after": "3"}, body=b'{"error": "too many"}', retry_after_s=3.0,
            latency_ms=12.5,
        )  # fmt: skip
    except ModelError as error:
        event = failed(error, redactor)
    assert (event.kind, event.message) == ("rate_limited", "HTTP 429: too many")
    assert (event.disposition, event.status) == ("deferred", 429)
    assert event.headers == {"retry-after": "3"}
    assert raw_body(event) == b'{"error": "too many"}'
    assert (event.retry_after_s, event.latency_ms) == (3.0, 12.5)
    assert event.stack_trace.startswith("Traceback (most recent call last)")
    assert "test_all_that_came_with_an_error_is_recorded" in event.stack_trace


LONG = b"x" * (MOST_OF_AN_ERROR - 1) + "é".encode() + b"y" * 100


def test_the_body_of_an_error_is_recorded_up_to_a_bound_and_the_event_says_so(
    redactor: Redactor,
) -> None:
    event = failed(ModelError("server_error", "HTTP 500", "transient", body=LONG), redactor)
    assert event.body == "x" * (MOST_OF_AN_ERROR - 1), "no character is cut in two"
    assert event.withheld == of(LONG, "long")
    short = failed(
        ModelError("server_error", "HTTP 500", "transient", body=LONG[:MOST_OF_AN_ERROR]), redactor
    )
    assert (raw_body(short), short.withheld) == (LONG[:MOST_OF_AN_ERROR], None)
    binary = bytes(range(256)) * 1000
    event = failed(ModelError("server_error", "HTTP 500", "transient", body=binary), Redactor([]))
    assert raw_body(event) == binary[:MOST_OF_AN_ERROR]
    assert failed(ModelError("timeout", "late", "transient"), redactor).body is None


SAID = f'{{"error": {{"message": "{KEY} is bad"}}}}'
UNSEARCHABLE = {
    "gzip": gzip.compress(SAID.encode()),
    "gzip, cut off": gzip.compress(SAID.encode())[:-8],
    "gzip of gzip": gzip.compress(gzip.compress(SAID.encode())),
    "zlib": zlib.compress(SAID.encode()),
    "zlib, stored": zlib.compress(SAID.encode(), 0),
    "UTF-16": SAID.encode("utf-16"),
    "UTF-16 without a mark": SAID.encode("utf-16-le"),
    "UTF-32": SAID.encode("utf-32-be"),
    "Latin-1": b"\xe9t\xe9",
}


@every("how", UNSEARCHABLE)
def test_a_body_in_which_no_key_can_be_looked_for_is_not_recorded_where_there_are_keys(
    how: str, redactor: Redactor
) -> None:
    body = UNSEARCHABLE[how]
    for event in (
        failed(ModelError("server_error", "HTTP 500", "transient", body=body), redactor),
        answered(Answer(200, {}, body, "a", 1.0), redactor),
    ):
        if event.withheld != of(body, "secret"):  # of the stored one: it stands there as it is
            assert event.withheld == of(body, "unsearchable")
            assert event.body == "[not recorded: no UTF-8 text in which keys can be looked for]"
            assert event.redactions == ()
    error = ModelError("server_error", "HTTP 500", "transient", body=body)
    event = failed(error, Redactor([]))
    assert (raw_body(event), event.withheld) == (body, None)


def test_a_text_that_is_cut_within_a_character_is_recorded_with_its_bytes(
    redactor: Redactor,
) -> None:
    body = "caf\xe9".encode()[:-1]
    event = failed(ModelError("connection", "reset", "transient", body=body), redactor)
    assert (raw_body(event), event.withheld) == (body, None)


@pytest.mark.parametrize("earlier", [0, 1, 1_000])
@pytest.mark.parametrize("cut", [1, 8, 79])
def test_no_part_of_a_key_is_left_of_a_long_message_whatever_is_replaced_before(
    earlier: int, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The placeholder is shorter than a long key: what comes later moves forward."""
    key = f"sk-{'canary-0123' * 7}"
    monkeypatch.setenv("K", key)
    many = f"{key} " * earlier
    for length in (MOST_OF_AN_ERROR, 2 * MOST_OF_AN_ERROR):
        said = many + "x" * (length - len(many) - cut) + key + "y" * 100
        body = json.dumps({"error": {"message": said}}).encode()
        reply = HttpReply(400, {}, body, 1.0, datetime.now(UTC))
        with pytest.raises(ModelError) as caught:
            read_document(reply, lambda _: pytest.fail("an error was read"))
        event = failed(caught.value, Redactor(["K"]))
        assert b"sk" not in encode(event) and b"xs" not in encode(event)


def test_an_answer_is_recorded_whole_however_long_it_is(redactor: Redactor) -> None:
    event = answered(Answer(200, {}, LONG * 20, "x", 1.0), redactor)
    assert (raw_body(event), event.withheld) == (LONG * 20, None)


@every("before", range(MOST_OF_AN_ERROR - len(KEY), MOST_OF_AN_ERROR + 1))
def test_no_part_of_a_key_stands_where_the_record_of_an_error_ends(
    before: int, redactor: Redactor
) -> None:
    said = "x" * before + KEY + "y" * 100
    error = ModelError("server_error", said, "transient", body=said.encode())
    error.__cause__ = ValueError(said)
    event = failed(error, redactor)
    assert event.body == "[redacted:CANARY_KEY]"
    assert b"sk" not in encode(event)


def test_what_an_error_says_is_recorded_up_to_a_bound_and_says_so(redactor: Redactor) -> None:
    error = ModelError("server_error", "m" * 10**6, "final")
    error.__cause__ = ValueError("c" * 10**6)
    event = failed(error, redactor)
    cut = " [cut off: only so many characters are recorded]"
    assert event.message == "m" * MOST_OF_AN_ERROR + cut
    assert event.stack_trace.endswith(cut)
    assert len(event.stack_trace) == MOST_OF_AN_ERROR + len(cut)


def test_an_error_whose_text_is_no_unicode_is_recorded_with_its_escapes() -> None:
    error = ModelError("client_exception", "no file \udcff.txt", "transient")
    error.__cause__ = OSError("no file \udcff.txt")
    event = failed(error, Redactor([]))
    assert event.message == r"no file \udcff.txt"
    assert event.stack_trace.count(r"\udcff") == 2
