"""Events read one after the other say what they say when all are in memory, and hold little."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any
from uuid import UUID

import pytest

from failproof_es.ledger.contents import EvidenceError, read_contents
from failproof_es.ledger.event_line import ProvenEvent
from tests.examples import stride
from tests.unit.ledger.bundle import asked_world, whole_contents
from tests.unit.ledger.bundle.evidence_world import RUN, World, world
from tests.unit.ledger.bundle.forging import said
from tests.unit.ledger.bundle.forging import sealed_again as seal_again
from tests.unit.ledger.bundle.test_branched_bundle import Branched
from tests.unit.ledger.bundle.test_registered_bundle import Registered
from tests.unit.ledger.bundle.test_reviewed_bundle import Reviewed
from tests.unit.ledger.bundle.test_two_verifiers import STEP, raw_states, variants

LOGS: dict[str, Callable[[], World]] = {
    "two attempts": world,
    "branched": Branched,
    "reviewed": lambda: Reviewed().say(),
    "registered": Registered,
    "asked": asked_world.asked_world,
}


def verdict(read: Callable[..., Any], run: UUID, shown: list[ProvenEvent]) -> object:
    """The contents, or why there are none."""
    try:
        return read(run, shown)
    except EvidenceError as error:
        return type(error), str(error)


def both(run: UUID, shown: list[ProvenEvent]) -> tuple[object, object]:
    return verdict(read_contents, run, shown), verdict(whole_contents.read_contents, run, shown)


def evidence_of(name: str) -> tuple[UUID, World, list[ProvenEvent]]:
    log = LOGS[name]()
    if isinstance(log, asked_world.AskedWorld):
        return asked_world.RUN, log, log.of_run()
    return RUN, log, log.evidence()


def rearranged(shown: list[ProvenEvent]) -> Iterator[tuple[str, list[ProvenEvent]]]:
    """Every event dropped, doubled, moved to the end, and called otherwise."""
    last = shown[-1].index
    for at, event in enumerate(shown):
        rest = shown[:at] + shown[at + 1 :]
        yield f"{at} dropped", rest
        yield f"{at} doubled", [*shown[: at + 1], *shown[at:]]
        yield f"{at} goes on", [*shown, replace(event, version=event.version + 1, index=last + 1)]
        versions = sum(each.stream_id == event.stream_id for each in shown)
        for topic in ("Scored", "CarriedOver", "Judged"):
            later = replace(event, version=versions + 1, index=last + 1, topic=topic)
            yield f"{at}: another {topic} behind all", [*shown, later]
        for topic in ("Reviewed", "RunStarted", "PromptStored", "Scored", "CarriedOver", "x"):
            yield f"{at} is {topic}", [*shown[:at], replace(event, topic=topic), *shown[at + 1 :]]
        for other in (shown[0], shown[len(shown) // 2], shown[-1]):
            moved = replace(event, stream_id=other.stream_id)
            yield f"{at} on another stream", [*shown[:at], moved, *shown[at + 1 :]]


@pytest.mark.parametrize("name", LOGS)
def test_whatever_is_dropped_doubled_or_moved_both_readings_say_the_same(name: str) -> None:
    run, _, shown = evidence_of(name)
    genuine, whole = both(run, shown)
    assert genuine == whole
    assert not isinstance(genuine, tuple)
    changes = islice(rearranged(shown), 0, None, stride())
    told = [(what, *both(run, changed)) for what, changed in changes]
    assert [what for what, one, other in told if one != other] == []
    assert len({one for _, one, _ in told if isinstance(one, tuple)}) > 10


@pytest.mark.parametrize("name", LOGS)
def test_whatever_an_event_says_both_readings_say_the_same(name: str) -> None:
    run, log, shown = evidence_of(name)
    places = {each.index for each in shown}
    of_run = [n for n in sorted(places) if said(log.events[n]).get("run_id") == str(run)]
    last = max(n for n in of_run if log.events[n].topic == "RunSealed")
    told = []
    for event in shown:
        for what, changed in [*variants(said(event))][:: 7 * STEP]:
            it = World([*log.events])
            it.events[event.index] = replace(event, state=json.dumps(changed).encode())
            if event.index < last and run == RUN:
                seal_again(it, [*(n for n in of_run if n < last), last])
            told.append((f"{event.topic} {what}", *both(run, [it.events[n] for n in places])))
    assert [what for what, one, other in told if one != other] == []
    assert len({one for _, one, _ in told if isinstance(one, tuple)}) > 10


def test_whatever_bytes_a_state_is_both_readings_say_the_same() -> None:
    shown = world().evidence()
    for at, event in enumerate(shown):
        for what, state in [*raw_states(event.state)][::5]:
            one, other = both(RUN, [*shown[:at], replace(event, state=state), *shown[at + 1 :]])
            assert one == other, what


def test_an_evaluation_that_goes_on_after_its_end_is_sealed_with_all_of_its_events() -> None:
    """Its end lets it go; what was let go is read again."""
    log = world()
    stream = next(e.stream_id for e in log.evidence() if e.topic == "Scored" and e.index > 10)
    seal = log.events.pop()
    seal = next(e for e in reversed(log.events) if e.topic == "RunSealed")
    del log.events[seal.index :]
    log.append(stream, "Judged", run_id=str(RUN))
    log.append(stream, "Scored", run_id=str(RUN))
    log.append(stream, "Judged", run_id=str(RUN))
    log.seal(RUN)
    one, other = both(RUN, log.evidence())
    assert one == other
    assert not isinstance(one, tuple)

    first = log.evidence()
    changed = [replace(e, state=b"{}") if e.stream_id == stream else e for e in first]
    passes = iter([first, changed])

    class Changing:
        def __iter__(self) -> Iterator[ProvenEvent]:
            return iter(next(passes))

    with pytest.raises(EvidenceError, match="was changed while it was read"):
        read_contents(RUN, Changing())


def peak(evaluations: int) -> int:
    """The most bytes that reading a run of so many evaluations held at a time."""
    log = world()
    shown = log.evidence()
    first = next(n for n, e in enumerate(shown) if e.topic == "RequestSent" and e.index > 10)
    asked = json.loads(shown[first].state)["prompt_id"]

    class Run:
        def __iter__(self) -> Iterator[ProvenEvent]:
            yield from shown[:first]
            for number in range(evaluations):
                stream = UUID(bytes=hashlib.sha256(b"%d" % number).digest()[:16])
                state = {"run_id": str(RUN), "prompt_id": asked, "body": f"{number}" * 2_000}
                for version, topic in enumerate(("RequestSent", "ResponseReceived", "Scored"), 1):
                    place = 100 + 3 * number + version
                    yield ProvenEvent(place, stream, version, topic, json.dumps(state).encode())
            yield from shown[first:]

    tracemalloc.start()
    with pytest.raises(EvidenceError, match="the seal counts"):
        read_contents(RUN, Run())
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.slow
def test_no_state_is_held_while_a_run_is_read() -> None:
    peak(100)
    assert peak(2_200) - peak(200) < 300 * 2_000
