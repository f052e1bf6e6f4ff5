"""The vocabulary is stable: what any released version wrote still reads, byte for byte."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import uuid4

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from failproof_es.core.case import digest_uuid, prompt_id
from failproof_es.events import EVENTS, Classified, Event, ResponseReceived, Scored
from failproof_es.events.runs import TokenPrices, Usage
from failproof_es.store import mapper
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import EventMapper
from tests.every import every
from tests.unit.event_samples import CASE, GOLDEN, OF_EVALUATION, SAMPLES, STREAM, golden_file


def test_there_is_a_sample_of_every_event() -> None:
    assert {type(sample).__name__ for sample in SAMPLES} == set(EVENTS)


@every("sample", SAMPLES)
def test_todays_bytes_are_the_golden_bytes(sample: Event) -> None:
    file = golden_file(type(sample).__name__, sample.schema_version)
    assert mapper.encode(sample) == file.read_bytes()


@every("file", sorted(GOLDEN.glob("*.json")))
def test_every_golden_file_ever_written_still_reads(file: Any) -> None:
    topic = file.name.split(".")[0]
    [sample] = [s for s in SAMPLES if type(s).__name__ == topic]
    event = mapper.decode(topic, file.read_bytes(), sample.originator_id, sample.originator_version)
    assert event == sample


def test_events_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        SAMPLES[0].originator_version = 9  # type: ignore[misc]


def test_a_topic_that_is_not_in_the_vocabulary_is_never_imported() -> None:
    with pytest.raises(UnreadableState, match="not in the vocabulary"):
        mapper.decode("os:system", b"{}", uuid4(), 1)


@every(
    "state",
    [b"", b"[]", b"null", b"{}", b'{"schema_version": 1}', b"\xff", b'{"schema_version": 99}',
     b'{"schema_version": "1"}'],
)  # fmt: skip
def test_bytes_that_hold_no_such_event_are_a_clear_error(state: bytes) -> None:
    with pytest.raises(UnreadableState, match="Scored"):
        mapper.decode("Scored", state, uuid4(), 1)


def test_an_old_schema_version_is_upcast_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    old = orjson.loads(golden_file("Scored", 1).read_bytes())
    old["value"] = old.pop("scores")
    old["schema_version"] = -1

    def rename(payload: dict[str, Any]) -> dict[str, Any]:
        payload["scores"] = payload.pop("value")
        return payload

    monkeypatch.setitem(mapper.UPCASTERS, ("Scored", -1), rename)
    monkeypatch.setitem(mapper.UPCASTERS, ("Scored", 0), lambda payload: payload)
    event = mapper.decode("Scored", orjson.dumps(old), STREAM, 3)
    assert event == Scored(
        **OF_EVALUATION,
        scores={"accuracy": 1.0},
        passed=True,
        reason="ok",
        scorer="s",
        scorer_version="1",
    )


def test_a_cases_digest_and_stream_depend_on_every_part_of_it() -> None:
    other = CASE.model_copy(update={"document": {**CASE.document, "unknown": [2]}})
    assert other.digest() != CASE.digest()
    assert prompt_id(CASE.digest()) != prompt_id(other.digest())
    assert digest_uuid(bytes(16)).version == 8


@every("price", ["1e-51", "1e51", "1e-3000", "1e3000", "1" * 51, "NaN", "Infinity"])
def test_a_price_that_no_sum_could_hold_exactly_is_no_price(price: str) -> None:
    with pytest.raises(ValidationError):
        TokenPrices.model_validate_json(f'{{"input": "{price}"}}')


@every("price", ["1e-50", "9" * 50, "0", "0.00000015", "0e-50"])
def test_a_price_of_up_to_fifty_digits_is_read(price: str) -> None:
    assert TokenPrices.model_validate_json(f'{{"input": "{price}"}}').input == Decimal(price)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec="utf-8"))
    | st.sampled_from([1e16, 1e-7, -0.0, 2**63, 2**64, '\x00\x1f\x7f\u2028"\\/', Decimal("1.50")]),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=8,
)


@given(
    details=st.dictionaries(st.text(st.characters(codec="utf-8")), _VALUES),
    when=st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])),
)
def test_the_bytes_are_those_of_the_types_own_serializer(
    details: dict[str, Any], when: datetime
) -> None:
    event = Classified(
        **{**OF_EVALUATION, "timestamp": when},
        primary="pass",
        details=details,
        classifier="c",
        classifier_version="1",
    )
    of_the_types = event.__pydantic_serializer__.to_json(
        event, exclude={"originator_id", "originator_version"}
    )
    assert mapper.encode(event) == b'{"schema_version":1,' + of_the_types[1:]


class _LongerUsage(Usage):
    audio_tokens: int = 7


class _LongerScored(Scored):
    audio_tokens: int = 7


def _response() -> ResponseReceived:
    [sample] = [each for each in SAMPLES if isinstance(each, ResponseReceived)]
    return sample


@every(
    "usage",
    [
        _LongerUsage(**vars(_response().usage)),
        _response().usage.model_copy(update={"audio_tokens": 7}),
    ],
)
def test_of_a_value_inside_an_event_only_what_is_declared_is_written(usage: Usage) -> None:
    event = _response()
    written = mapper.encode(event.model_copy(update={"usage": usage}))
    assert written == mapper.encode(event)
    assert mapper.decode("ResponseReceived", written, STREAM, event.originator_version) == event


def test_a_field_of_an_event_that_is_not_declared_is_not_written() -> None:
    event = _response()
    assert mapper.encode(event.model_copy(update={"audio_tokens": 7})) == mapper.encode(event)


def test_a_subclass_of_an_event_is_not_stored_because_nobody_could_read_it() -> None:
    [sample] = [each for each in SAMPLES if isinstance(each, Scored)]
    mine = _LongerScored(**vars(sample))
    same_name = type("Scored", (_LongerScored,), {"__module__": __name__})(**vars(sample))
    for event in (mine, same_name):
        with pytest.raises(TypeError, match="is not in the vocabulary"):
            EventMapper(transcoder=None).to_stored_event(event)  # type: ignore[arg-type]
