"""What both verifiers print of a genuine bundle: the result, the list, a case. The same lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from failproof_es.cli.rendering.evidence_lines import BundledRun
from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.ledger import bundle
from failproof_es.problems import InvalidInput
from failproof_es.support.untrusted_text import one_line
from tests.examples import stride
from tests.unit.ledger.bundle.evidence_world import CASES, MODEL, RUN, WITNESS, World
from tests.unit.ledger.bundle.forging import said
from tests.unit.ledger.bundle.test_branched_bundle import Branched
from tests.unit.ledger.bundle.test_bundle import KEY, first_verdict, second_verifier
from tests.unit.ledger.bundle.test_reviewed_bundle import Reviewed
from tests.unit.ledger.bundle.test_two_verifiers import chosen, variants, with_event

CASE_ID = "c\x1b[2J\n\u202e\x9b1m\u3164é"
HOSTILE = f"{CASE_ID}\ud800"
GATES = {
    "min_accuracy": {"limit": 0.9, "measured": 1 / 3, "of": 3, "met": False, "why": HOSTILE},
    "max_cost_usd": {"limit": 1, "measured": None, "met": False},
    "no_severity": {"limit": ["S0", "S1"], "measured": 1, "of": 1200, "met": True},
}
SNAPSHOT = {**MODEL, "version": "7", "settings": {"base_url": "http://h/v1"}}


class Told(World):
    """A run with an evaluation of each kind, by somebody whose names are hostile."""

    def __init__(self) -> None:
        super().__init__()
        same_id = CASES[1].model_copy(update={"suite_id": "t", "case_id": CASES[0].case_id})
        hostile = Case(
            dialect="failproof", case_id=CASE_ID, suite_id="s", expectation={"rule": "a\nb"},
            turns=(Turn(role="user", content="one\n  2026-11-29 Scored\ntwo"),), document={},
        )  # fmt: skip
        unmarked = CASES[1].model_copy(update={"suite_id": "u"})
        cases = (CASES[0], same_id, hostile, unmarked)
        self.store(cases)
        self.start(RUN, 1, 1, cases, who=HOSTILE, where="host", models=[SNAPSHOT], experiment={})
        self.as_asked(cases)
        self.pass_it(self.of(cases[0], 1))
        self.fail_it(self.of(cases[1], 2))
        self.abandon(self.of(cases[2], 3))
        self.fail_it(self.of(unmarked, 4), passed=None)
        counts = {"planned": 4, "finished": 4, "scored": 3, "abandoned": 1}
        self.append(RUN, "RunCompleted", counts=counts, run_id=str(RUN), gates=GATES)
        self.seal(RUN)

    def as_asked(self, cases: tuple[Case, ...]) -> None:
        """The experiment that the run records is that of its model."""
        second = second_verifier()
        at = next(n for n, event in enumerate(self.events) if event.topic == "RunStarted")
        state = said(self.events[at])
        digests = [second.digests_of(case.model_dump(mode="json")) for case in cases]
        graded = sorted({each["graded"] for each in digests})
        asked = {"format": "failproof-es/experiment/1", "cases": graded}
        asked |= json.loads(second.conditions(state))
        state["experiment"] = {
            "digest": second.digest_of(asked),
            "questions": second.digest_of(sorted({each["question"] for each in digests})),
            "overlapping": 0,
        }
        self.events[at] = replace(self.events[at], state=json.dumps(state).encode())

    def of(self, case: Case, number: int) -> tuple[UUID, dict[str, Any]]:
        prompt = str(prompt_id(case.digest()))
        asked = {"run_id": str(RUN), "prompt_id": prompt, "model_key": "m", "repetition": 1}
        return UUID(int=RUN.int + number), asked

    def ask(self, stream: UUID, asked: dict[str, Any], **fields: Any) -> None:
        request = {
            "purpose": "target", "turn": 0, "attempt": 1, "model": "m", "parameters": {},
            "endpoint": "http://h/v1", "timestamp": "2026-11-29T16:00:00Z", "schema_version": 1,
            **fields,
        }  # fmt: skip
        self.append(stream, "RequestSent", **asked, **request)

    def pass_it(self, of: tuple[UUID, dict[str, Any]]) -> None:
        """Two turns: the second request continues the first one."""
        stream, asked = of
        first = '{"model":"m","messages":[{"role":"user","content":"Hi\\nthere"}]}'
        digest = hashlib.sha256(first.encode()).hexdigest()
        self.ask(stream, asked, body=first, body_sha256=digest)
        self.append(stream, "ResponseReceived", **asked, text=HOSTILE, finish_reason="stop")
        second = first[:-2] + ',{"role":"assistant","content":"a"}' + first[-2:]
        self.ask(
            stream, asked, body=second[len(first) - 2 : -2],
            body_sha256=hashlib.sha256(second.encode()).hexdigest(),
            continues={"version": 1, "sha256": digest, "prefix": len(first) - 2, "suffix": 2},
        )  # fmt: skip
        self.append(stream, "Classified", **asked, primary="answer", details={})
        self.append(stream, "Scored", **asked, scores={"accuracy": 1.0}, passed=True, reason="ok")

    def fail_it(self, of: tuple[UUID, dict[str, Any]], *, passed: bool | None = False) -> None:
        stream, asked = of
        self.ask(stream, asked, body="{", body_sha256="another")
        self.append(stream, "Classified", **asked, primary="fail", details={})
        self.append(stream, "Scored", **asked, scores={}, passed=passed, reason="no\nr")

    def abandon(self, of: tuple[UUID, dict[str, Any]]) -> None:
        stream, asked = of
        self.append(stream, "AttemptOrphaned", **asked, reason=HOSTILE)
        self.append(stream, "EvaluationAbandoned", **asked, kind="bad", reason=HOSTILE)

    def evidence(self) -> list[Any]:
        return list(self.events)


LOGS: dict[str, Callable[[], World]] = {
    "told": Told,
    "branched": Branched,
    "reviewed": lambda: Reviewed().say(reviewer="mia", notes=HOSTILE),
}
CASE_IDS = ("c-0", "c-1", "s/c-0", "t/c-0", CASE_ID, one_line(CASE_ID))


def first_lines(data: bytes, case: str | None = None) -> list[str]:
    run = BundledRun(bundle.read(data))
    if case is None:
        return [one_line(line) for line in (*run.result(), *run.evaluations())]
    try:
        return [one_line(line) for line in run.case(case)]
    except InvalidInput:
        return []


def second_lines(data: bytes, case: str | None = None) -> list[str]:
    second = second_verifier()
    evidence = second.verify(data, str(KEY), [str(WITNESS.public)])
    if case is None:
        lines = (*second.result_lines(evidence), *second.list_lines(evidence))
    else:
        lines = tuple(second.case_lines(evidence, case))
    return [second.safe(line) for line in lines]


@pytest.mark.parametrize("name", LOGS)
def test_both_print_the_same(name: str) -> None:
    data = LOGS[name]().bundle()
    assert first_verdict(data)
    for case in (None, *CASE_IDS):
        lines = first_lines(data, case)
        assert lines == second_lines(data, case)
        assert all(line.isprintable() for line in lines)


def test_the_result_is_that_of_the_events() -> None:
    lines = "\n".join(first_lines(Told().bundle()))
    for text in (
        f"by {one_line(HOSTILE)} on host\n",
        "model m: passed 1 of 2, scored 3 of 4 planned; m, version 7 at http://h/v1: "
        "temperature 0.0",
        "judge j: j at openai",
        "gate min_accuracy 0.9: measured 0.3333 over 3 (",
        "gate max_cost_usd 1: nothing measured, NOT MET",
        "gate no_severity S0, S1: measured 1 of 1,200, met",
        "passed      answer        m 1  s/c-0\n",
        "failed      fail          m 1  t/c-0  no\\nr\n",
        f"no score    -             m 1  s/{one_line(CASE_ID)}  bad: ",
    ):
        assert text in lines


def test_a_case_is_shown_of_every_suite_with_requests_whole_and_texts_that_stay_inside() -> None:
    data = Told().bundle()
    lines = first_lines(data, "c-0")
    assert [line for line in lines if line.startswith("case ")] == ["case s/c-0", "case t/c-0"]
    assert first_lines(data, "t/c-0") == lines[lines.index("case t/c-0") :]
    assert "      | there" in lines and lines.count("    assistant: a") == 1
    assert sum("not the one whose SHA-256" in line for line in lines) == 1
    shown = first_lines(data, CASE_ID)
    assert "      |   2026-11-29 Scored" in shown and "  2026-11-29 Scored" not in shown


def odd_events() -> Iterator[tuple[str, bytes]]:
    """The bundles of these logs with one event that says something else; few of very many."""
    for name, made in LOGS.items():
        log = made()
        changes = [
            (at, *variant) for at in chosen(log) for variant in variants(said(log.events[at]))
        ]
        for at, what, changed in changes[:: stride(40)]:
            event = log.events[at]
            odd = replace(event, state=json.dumps(changed).encode())
            yield f"{name} {event.topic} {what}", with_event(log, odd)


@pytest.mark.slow
@pytest.mark.thinned(whole=1)
def test_whatever_the_events_of_a_genuine_bundle_say_both_print_it() -> None:
    """What no engine writes they may describe otherwise: a model, a request."""
    genuine = [(name, data) for name, data in odd_events() if first_verdict(data)]
    assert len(genuine) > 20
    for name, data in genuine:
        for case in (None, "c-0"):
            lines = [[line for line in read(data, case) if not line.startswith(("model ", "judge"))]
                     for read in (first_lines, second_lines)]  # fmt: skip
            assert lines[0] == lines[1] or "RequestSent" in name, name
