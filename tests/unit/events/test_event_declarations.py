"""What an event is to others stands with the event; lists of topics elsewhere say the same."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from string import Formatter
from typing import get_args

import orjson

import failproof_es
from failproof_es.events import (
    ENDED,
    EVENTS,
    RUN_STATUS,
    EvaluationEvent,
    Event,
    OperationEvent,
    RunEvent,
    RunStatus,
    topics,
)
from failproof_es.events.line import MADE, line_of
from failproof_es.store.mapper import encode
from tests.every import every
from tests.unit.event_samples import SAMPLES
from tools.verifier_events import VERIFIER, verifier

ROOT = Path(failproof_es.__file__).parent.parent
SQL = sorted(
    file
    for folder in ("failproof_es/store/views", "failproof_es/store/queries",
                   "failproof_es/store/functions", "failproof_es/store/roles", "projections/sql")
    for file in (ROOT / folder).glob("*.sql")
)  # fmt: skip


@every("kind", EVENTS.values())
def test_every_event_says_what_it_is_to_others(kind: type[Event]) -> None:
    assert kind.stream
    assert issubclass(kind, EvaluationEvent) == (kind.stream == "evaluation")
    assert issubclass(kind, OperationEvent) == (kind.stream in ("operations", "review"))
    named = {name.split("[")[0] for _, name, _, _ in Formatter().parse(kind.says) if name}
    assert named - MADE <= set(kind.model_fields), "it tells fields that it has"
    assert kind.not_in_trail <= {"body", "body_encoding", "headers", "stack_trace", "parameters"}


@every("sample", SAMPLES)
def test_every_event_is_told_in_one_line(sample: Event) -> None:
    told = line_of(type(sample).__name__, orjson.loads(encode(sample)))
    assert "\n" not in told and "{" not in told.replace("{{x}}", "")
    assert bool(told) == bool(sample.says)


@every(
    ("topic", "payload", "says"),
    [
        ("Scored", {"scores": {"accuracy": 1.0, "safe_answer": 0}, "passed": True, "reason": "all"},
         "passed, accuracy 1, safe answer 0: all"),
        ("Scored", {"scores": {"accuracy": 0.25}, "passed": False, "reason": ""},
         "failed, accuracy 0.25"),
        ("Scored", {"scores": {"accuracy": 1 / 3}, "passed": None, "reason": "a part"},
         "scored, accuracy 0.333333: a part"),
        ("Classified", {"primary": "partial_compliance"}, "answer classed as partial compliance"),
        ("Classified", {"primary": "my class"}, "answer classed as my class"),
        ("Judged", {"judge": "judge:m", "verdict": None, "problem": "no_object: none"},
         "judge:m says no_object: none"),
        ("Judged", {"judge": "judge:m", "problem": None, "verdict": {"items": [
            {"item": "harm", "verdict": "not_broken", "quote": "No.", "turn": 1, "void": None},
            {"item": "tone", "verdict": None, "quote": None, "turn": None, "void": "not answered"},
        ]}}, "judge:m says harm not broken, tone (does not count: not answered)"),
        ("Judged", {"judge": "judge:m", "problem": None, "verdict": {"items": [
            {"item": "must_do.1", "verdict": "absent"},
            {"item": "must_not_do.1", "verdict": "absent"},
            {"item": "must_not_do.2", "verdict": "present"},
        ]}}, "judge:m says must_do.1 did not happen, must_not_do.1 did not happen, "
             "must_not_do.2 happened"),
        ("Judged", {"judge": "m", "problem": None,
                    "verdict": {"classification": "full_refusal", "confidence": 0.9, "why": None}},
         "m says classification full refusal, confidence 0.9"),
    ],
)  # fmt: skip
def test_verdicts_are_told_in_words(topic: str, payload: dict[str, object], says: str) -> None:
    assert line_of(topic, payload) == says


@every(
    "payload",
    [
        {},
        {"scores": 3, "verdict": [], "primary": {}, "passed": []},
        {"verdict": {"items": [3]}},
        {"counts": 3},
        {"case": []},
        {"models": [1, {}]},
    ],
)
def test_a_payload_that_no_engine_wrote_is_told_as_far_as_it_goes(
    payload: dict[str, object],
) -> None:
    for topic in (*EVENTS, "RetrySent", "Unheard"):
        assert isinstance(line_of(topic, payload), str)


@every("topic", topics("run"))
def test_an_event_of_a_run_says_when_it_comes(topic: str) -> None:
    kind = EVENTS[topic]
    assert issubclass(kind, RunEvent)
    assert (kind.plan_place is not None) != bool(kind.comes_while), "with the plan, or later"


def test_the_verifier_has_the_table_of_a_runs_events() -> None:
    assert verifier() == VERIFIER.read_text("utf-8")


def _named(text: str) -> list[str]:
    return re.findall(r"'([A-Z][a-z]+(?:[A-Z][a-z]+)*)'", text)


@every("file", SQL)
def test_sql_names_topics_that_there_are_and_whole_groups_of_them(file: Path) -> None:
    text = re.sub(r"--.*", "", file.read_text("utf-8"))
    said = re.findall(r"topic\s*(?:=|IN)\s*(\([^)]*\)|'[^']*')", text)
    assert {name for each in said for name in _named(each)} <= set(EVENTS)
    lists = [frozenset(_named(each)) for each in said if each.startswith("(")]
    groups = {
        frozenset(RUN_STATUS),
        frozenset(name for name, status in RUN_STATUS.items() if status in ENDED),
        frozenset(topics("evaluation", ends=True)) - {"CarriedOver"},
        frozenset(topics("evaluation", ends=True)),
        frozenset({"RunArchived", "RunAttached"}),  # whether a run is archived
        frozenset({"RequestSent", "CarriedOver"}),  # what an evaluation's stream can begin with
    }
    assert {each for each in lists if each} <= groups


def test_what_a_view_makes_of_the_last_event_is_how_the_run_stands() -> None:
    text = (ROOT / "failproof_es/store/views/test_runs.sql").read_text("utf-8")
    told = dict(re.findall(r"WHEN '(Run\w+)' THEN '(\w+)'", text))
    assert told == {name: status for name, status in RUN_STATUS.items() if status != "running"}
    schema = ROOT / "failproof_es/dialects/shipped/promptguard/test_run.schema.json"
    shown = orjson.loads(schema.read_bytes())["properties"]["status"]["enum"]
    assert shown == list(get_args(RunStatus)), "the view's documents follow this schema"


def test_no_module_lists_topics_beside_the_declarations() -> None:
    """A tuple or set of four topics or more is a list that somebody would have to keep."""
    quoted = re.compile(r'"(' + "|".join(EVENTS) + r')"')
    found = []
    for file in sorted((ROOT / "failproof_es").rglob("*.py")):
        where = file.relative_to(ROOT / "failproof_es").as_posix()
        if where.startswith("events/") or where == "store/mapper.py":
            continue
        if where.endswith("/projection.py"):
            continue  # says what it wants, as those in `projections` do
        places = [match.start() for match in quoted.finditer(file.read_text("utf-8"))]
        close = [b - a < 60 for a, b in pairwise(places)]
        if any(all(close[n : n + 3]) for n in range(len(close) - 2)):
            found.append(where)
    assert found == []
