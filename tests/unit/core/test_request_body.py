"""Bodies of requests: what is recorded of a conversation's, and what is rebuilt from that."""

from __future__ import annotations

import hashlib
import tracemalloc
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.core.request_body import LEAST_BYTES, RequestBodies, SentBody
from failproof_es.events import Continuation, Purpose, RequestSent
from tests.examples import examples


def request(version: int, purpose: Purpose = "target", **fields: Any) -> RequestSent:
    return RequestSent(
        originator_id=UUID(int=1), originator_version=version, run_id=UUID(int=2),
        timestamp=datetime(2026, 1, 1, tzinfo=UTC), prompt_id=UUID(int=3), model_key="m",
        repetition=1, purpose=purpose, turn=0, attempt=1, model="m", parameters={}, endpoint="e",
        **fields,
    )  # fmt: skip


def recorded(bodies: Sequence[tuple[Purpose, bytes]]) -> list[RequestSent]:
    """The events of requests with these bodies, as the engine records them."""
    sent, events = RequestBodies(), []
    for version, (purpose, body) in enumerate(bodies, 1):
        event = request(version, purpose, **sent.fields(purpose, body))
        sent.add(event, body)
        events.append(event)
    return events


def rebuilt(events: Sequence[RequestSent]) -> list[SentBody]:
    bodies = RequestBodies()
    return [bodies.rebuild(event) for event in events]


def conversation(turns: int, text: str = "Grüße, 你好 \U0001f600. " * 20) -> list[bytes]:
    """The bodies of the requests of a conversation of so many turns."""
    messages: list[dict[str, str]] = []
    bodies = []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"{turn} {text}"})
        bodies.append(orjson.dumps({"model": "m", "messages": messages, "max_tokens": 5}))
        messages.append({"role": "assistant", "content": f"yes {turn}"})
    return bodies


def stored(events: Sequence[RequestSent]) -> int:
    return sum(len(event.body.encode()) for event in events)


def test_a_conversation_of_twice_the_turns_records_twice_the_bytes() -> None:
    few, many = (recorded([("target", body) for body in conversation(turns)]) for turns in (30, 60))
    assert stored(many) < 2.2 * stored(few)
    assert sum(event.body_bytes for event in many) > 3.5 * sum(event.body_bytes for event in few)


# Characters of one to four bytes that share bytes with each other, NULs, and repetitions.
TEXTS = st.lists(
    st.sampled_from(
        ["a", "ab" * 3_000, "ä", "å", "Ĥ", "€" * 2_000, "₭", "\U0001f600", "\0", "\U0001f601"]
    ),
    max_size=6,
).map("".join)
BODIES = st.lists(st.tuples(st.sampled_from(["target", "judge"]), TEXTS), max_size=8)


@settings(max_examples=examples(4))
@given(BODIES)
def test_any_sequence_of_bodies_is_rebuilt_exactly(texts: list[tuple[Purpose, str]]) -> None:
    bodies = [(purpose, text.encode()) for purpose, text in texts]
    events = recorded(bodies)
    sent = rebuilt(events)
    assert [(each.body, each.problem) for each in sent] == [(body, None) for _, body in bodies]
    assert [each.body_bytes for each in events] == [len(body) for _, body in bodies]
    digests = [hashlib.sha256(body).hexdigest() for _, body in bodies]
    assert [each.body_sha256 for each in events] == digests
    for event in events:
        assert event.continues is None or len(event.body.encode()) < event.body_bytes / 2


@pytest.mark.parametrize("other", ["å", "Ĥ", "\U0001f600"])
def test_no_character_is_cut_where_two_share_a_byte(other: str) -> None:
    """The first byte of `ä` is that of `å`, its last byte that of `Ĥ`."""
    texts = ["x" * 3_000 + each + "y" * 3_000 for each in ("ä", other)]
    events = recorded([("target", text.encode()) for text in texts])
    assert events[1].body == other
    assert [each.text for each in rebuilt(events)] == texts


def test_a_short_body_and_one_that_shares_little_are_recorded_whole() -> None:
    short, long = b"x" * LEAST_BYTES, b"x" * (LEAST_BYTES + 1)
    other = b"x" * (len(long) // 2) + b"y" * (len(long) - len(long) // 2)
    first, again, different = recorded([("target", short), ("target", short), ("target", other)])
    assert first.continues is again.continues is different.continues is None
    _, retried = recorded([("target", long), ("target", long)])
    assert retried.continues is not None
    assert retried.body == ""


def test_a_judges_request_continues_no_request_of_the_model_under_test() -> None:
    body = b"x" * 3 * LEAST_BYTES
    events = recorded([("target", body), ("judge", body), ("judge", body), ("target", body)])
    continued = [event.continues and event.continues.version for event in events]
    assert continued == [None, None, 2, 1]


def test_a_body_with_a_nul_is_recorded_whole() -> None:
    body = b"x" * 3 * LEAST_BYTES
    nul = body + b"\0"
    events = recorded([("target", each) for each in (body, nul, body, body)])
    assert [event.continues is None for event in events] == [True, True, True, False]


def continued(bodies: list[RequestSent], **changes: Any) -> RequestSent:
    continues = bodies[-1].continues
    assert continues is not None
    changed = continues.model_copy(update=changes)
    return bodies[-1].model_copy(update={"continues": changed})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"version": 7}, "continues event 7, which is not the request before it"),
        ({"version": 2}, "continues event 2, which is not the request before it"),
        ({"version": 99}, "continues event 99, which is not the request before it"),
        ({"sha256": "0" * 64}, "continues another body than that of event 8"),
        ({"prefix": -1}, "takes less than nothing of the body of event 8"),
        ({"suffix": -(10**30)}, "takes less than nothing of the body of event 8"),
        ({"prefix": 10**30}, "takes more of the body of event 8 than there is"),
        ({"suffix": 2**40}, "takes more of the body of event 8 than there is"),
        ({"prefix": 0}, "is not what its digest says"),
    ],
)
def test_a_continuation_that_no_engine_writes_is_said(
    changes: dict[str, int], problem: str
) -> None:
    events = recorded([("target", body) for body in conversation(9)])
    hostile = [*events[:-1], continued(events, **changes)]
    *before, last = rebuilt(hostile)
    assert {each.problem for each in before} == {None}
    assert last.problem is not None
    assert problem in last.problem


def test_a_changed_earlier_turn_is_said_of_every_request_that_holds_it() -> None:
    events = recorded([("target", body) for body in conversation(20)])
    assert all(event.continues for event in events[12:])
    changed = events[12].model_copy(update={"body": events[12].body.replace("12 Gr", "13 Gr")})
    problems = [each.problem is None for each in rebuilt([*events[:12], changed, *events[13:]])]
    assert problems == [True] * 12 + [False] * 8


def test_nothing_continues_what_was_changed() -> None:
    bodies = conversation(12)
    events = recorded([("target", body) for body in bodies])
    changed = events[-1].model_copy(update={"body": "changed"})
    fields = RequestBodies([*events[:-1], changed]).fields("target", bodies[-1])
    assert "continues" not in fields
    assert fields["body"].encode() == bodies[-1]


def test_bodies_that_double_with_each_row_are_refused_in_little_memory() -> None:
    first = request(1, body="x" * 8_192, body_sha256=hashlib.sha256(b"x" * 8_192).hexdigest())
    hostile, length = [first], 8_192
    for version in range(2, 12):
        whole = Continuation(
            version=version - 1, sha256=hostile[-1].body_sha256, prefix=length, suffix=length
        )
        hostile.append(request(version, body="", body_sha256="0", continues=whole))
        length *= 2
    tracemalloc.start()
    problems = [each.problem for each in rebuilt(hostile)]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problems[0] is None
    assert all(problems[1:])
    assert peak < 1_000_000, "eleven doublings are 16 MB"
