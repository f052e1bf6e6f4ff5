"""The collections of specification 001 say, in SQL, what the log says, in Python."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from psycopg.types.json import set_json_loads

from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.evaluation import EvaluationKey, fold
from failproof_es.core.reply_body import whole_body
from failproof_es.dialects.shipped.promptguard.evaluation_record import evaluation_record
from failproof_es.events import (
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Event,
    PromptStored,
    RequestSent,
    ResponseReceived,
    RunStarted,
    Scored,
    Usage,
)
from failproof_es.store import mapper
from failproof_es.store.mapper import LogEntry
from failproof_es.store.reading.reader import read_streams
from failproof_es.store.schema.installation import AUDITOR, WRITER
from failproof_es.store.store import Store
from projections.protocol import visible
from tests.examples import examples
from tests.unit.event_samples import GOLDEN, OF_EVALUATION, RUN

TURN = Turn(role="user", content="judge this")
WHEN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
odd = st.sampled_from(["\x00", "\\", "\\\\", "u0000", "\\u0000", '"', "\n"])
texts = st.lists(odd | st.text(max_size=3), max_size=6).map("".join)
counts = st.none() | st.integers(0, 2**40)
shares = st.sampled_from([0.0, 0.1, 0.30000000000000004, 1e-7, 1.0])
escaped = st.lists(odd | st.sampled_from(["a", "\u0101", "\U0001f600"]), max_size=8).map("".join)
bodies = st.one_of(
    texts.map(lambda text: whole_body(text.encode())),
    st.binary(max_size=8).map(whole_body),
    escaped.map(
        lambda text: {"body": b64encode(text.encode()).decode(), "body_encoding": "base64"}
    ),
)
"""Bodies as events hold them: text, bytes that are none, text in base64."""
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts)


@pytest.fixture
def connection(store: Store) -> Iterator[psycopg.Connection[Any]]:
    """What an auditor reads with."""
    with psycopg.connect(store.url.replace(WRITER, AUDITOR), autocommit=True) as connection:
        set_json_loads(json.loads, connection)
        yield connection


class PromptEvents:
    """One prompt and one evaluation of it, as events."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        document = {
            "prompt_id": draw(texts), "content": draw(texts), "category": draw(texts),
            "expected_label": draw(texts), "created_at": draw(st.none() | st.just("2026-11-21")),
        }  # fmt: skip
        self.case = Case(
            dialect="promptguard",
            case_id=document["prompt_id"],
            suite_id=draw(texts),
            turns=(Turn(role="user", content=draw(texts)),),
            category=document["category"],
            label=document["expected_label"],
            source=draw(texts),
            document=document,
        )
        digest = uuid4().hex * 2
        prompt = prompt_id(digest)
        self.key = EvaluationKey(uuid4(), prompt, draw(texts), 1)
        self.stored = PromptStored(
            originator_id=prompt,
            originator_version=1,
            run_id=None,
            timestamp=WHEN,
            digest=digest,
            case=self.case,
        )
        self.history: list[EvaluationEvent] = []
        self._tell()

    def _tell(self) -> None:
        draw = self.draw
        for attempt in range(1, draw(st.integers(1, 3)) + 1):
            which = {"purpose": "target", "turn": 0, "attempt": attempt}
            parameters = draw(
                st.fixed_dictionaries({}, optional={"temperature": shares, "max_tokens": counts})
            )
            self._add(
                RequestSent, **which, model=draw(texts), parameters=parameters, endpoint="e",
                body=draw(texts), body_sha256="s",
            )  # fmt: skip
            outcome = draw(st.sampled_from(["error", "error", "answer", "nothing"]))
            if outcome == "nothing":
                return
            if outcome == "answer":
                self._add(
                    ResponseReceived, **which, status=200, headers={}, **draw(bodies),
                    text=draw(texts), model=draw(st.none() | texts), usage=draw(usages),
                    latency_ms=draw(st.floats(0, 1e6)),
                )  # fmt: skip
                break
            self._add(
                ErrorRecorded, **which, kind=draw(texts), message=draw(texts),
                disposition="transient", stack_trace=draw(texts),
                **draw(st.just({}) | bodies),
            )  # fmt: skip
        if draw(st.booleans()):
            self._end()

    def _end(self) -> None:
        draw = self.draw
        verdict = {
            "T": draw(shares),
            "I": draw(shares),
            "F": draw(shares),
            "reasoning": draw(texts),
        }
        details = draw(st.sampled_from([verdict, {"rule": "empty"}]))
        self._add(
            Classified, primary=draw(texts), details=details, classifier="c",
            classifier_version="1",
        )  # fmt: skip
        before = self.history[-2]
        failed = before.kind if isinstance(before, ErrorRecorded) else None
        if failed is None and draw(st.booleans()):
            self._add(
                Scored, scores={}, passed=draw(st.none() | st.booleans()), reason="r", scorer="s",
                scorer_version="1",
            )  # fmt: skip
        elif draw(st.booleans()):
            kind = draw(texts) if failed is None else failed
            self._add(EvaluationAbandoned, kind=kind, reason=draw(texts))

    def _add(self, kind: type[EvaluationEvent], /, **fields: Any) -> None:
        self.history.append(
            kind(
                originator_id=self.key.evaluation_id,
                originator_version=len(self.history) + 1,
                run_id=self.key.run_id,
                timestamp=WHEN + timedelta(microseconds=len(self.history) * 250_000),
                prompt_id=self.key.prompt_id,
                model_key=self.key.model_key,
                repetition=1,
                **fields,
            )
        )


def record(store: Store, *events: Event) -> None:
    store.log.recorder.insert_events([store.log.mapper.to_stored_event(each) for each in events])


def schema(name: str) -> dict[str, Any]:
    folder = files("failproof_es.dialects.shipped.promptguard")
    found: dict[str, Any] = json.loads(folder.joinpath(f"{name}.schema.json").read_text())
    return found


def one(connection: psycopg.Connection[Any], statement: str, *values: Any) -> tuple[Any, ...]:
    [row] = connection.execute(statement.encode(), values).fetchall()
    found: tuple[Any, ...] = row
    return found


@pytest.mark.slow
def test_every_evaluation_reads_as_the_results_print_it(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    validator = Draft7Validator(schema("evaluation"))

    @settings(max_examples=examples(1.5))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        told = PromptEvents(data.draw)
        begin(store, told.key.run_id)
        record(store, told.stored, *told.history)
        state = fold(told.history)
        document, prompt, status, label = one(
            connection,
            "SELECT document, prompt_id, status, label FROM promptguard.evaluations "
            "WHERE test_run_id = %s",
            told.key.run_id,
        )
        assert document == evaluation_record(told.case, state)
        validator.validate(document)
        assert prompt == visible(told.case.case_id)
        ends = {"scored": state.score is not None, "abandoned": state.abandoned is not None}
        assert status == next((name for name, so in ends.items() if so), "unfinished")
        primary = state.classification.primary if state.classification else None
        assert label == (None if primary is None else visible(primary))

    check()


def test_every_prompt_reads_as_it_was_stored(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    validator = Draft7Validator(schema("prompt"))

    @settings(max_examples=examples(0.6))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        told = PromptEvents(data.draw)
        begin(store, told.key.run_id)
        record(store, told.stored, *told.history)
        document, collection = one(
            connection,
            "SELECT p.document, p.collection FROM promptguard.prompts AS p "
            "JOIN promptguard.evaluations AS e ON e.prompt_key = p.key WHERE e.test_run_id = %s",
            told.key.run_id,
        )
        stored = told.case.document
        assert document == {
            **stored,
            "source": told.case.source,
            "created_at": stored["created_at"] or "2026-11-21T12:00:00Z",
        }
        assert collection == visible(told.case.suite_id)
        told_apart = ("prompt_id", "category", "expected_label")
        if stored["content"] and all(stored[name].strip() for name in told_apart):
            validator.validate({**document, "created_at": "2026-11-21T12:00:00Z"})

    check()


def test_a_prompt_asked_with_two_templates_is_one_prompt(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    document = {"prompt_id": "p", "content": "c", "category": "a", "expected_label": "b"}
    for number in range(2):
        case = Case(
            dialect="promptguard",
            case_id="p",
            suite_id="calibration",
            turns=(Turn(role="user", content=f"template {number}"),),
            document=document,
        )
        record(
            store,
            PromptStored(
                originator_id=UUID(int=number + 1), originator_version=1, run_id=None,
                timestamp=WHEN, digest="d", case=case,
            ),
        )  # fmt: skip
    assert one(connection, "SELECT prompt_id FROM promptguard.prompts") == ("p",)


def versions(topic: str) -> list[Path]:
    """What every released version wrote of this event."""
    return sorted(GOLDEN.glob(f"{topic}.v*.json"))


def begin(store: Store, run: UUID) -> None:
    """The first event of a run of the dialect, which says so."""
    state = versions("RunStarted")[-1].read_bytes().replace(str(RUN).encode(), str(run).encode())
    assert b'"dialect":"failproof"' in state
    state = state.replace(b'"dialect":"failproof"', b'"dialect":"promptguard"')
    store.log.recorder.insert_events([LogEntry(run, 1, "RunStarted", state, run)])


def append(store: Store, stream: UUID, version: int, written: Path, run: UUID) -> None:
    """Put the very bytes of a golden file into the log, but for the run that they name."""
    topic = written.name.partition(".")[0]
    state = written.read_bytes().replace(str(RUN).encode(), str(run).encode())
    store.log.recorder.insert_events([LogEntry(stream, version, topic, state, run)])


@pytest.mark.parametrize("written", versions("RunStarted"), ids=lambda file: file.name)
def test_runs_that_any_released_version_began_have_their_documents(
    store: Store, connection: psycopg.Connection[Any], written: Path
) -> None:
    run = uuid4()
    with store.connect() as writing:
        writing.execute("SELECT failproof.number_run(%s)", (run,))
    append(store, run, 1, written, run)
    (document,) = one(connection, "SELECT document FROM promptguard.test_runs")
    Draft7Validator(schema("test_run")).validate(document)
    models = connection.execute("SELECT document FROM promptguard.model_configs").fetchall()
    for (document,) in models:
        Draft7Validator(schema("model_config")).validate(document)
    started = mapper.decode("RunStarted", written.read_bytes(), run, 1)
    assert isinstance(started, RunStarted)
    assert len(models) == len(started.models) + len(started.judges) > 0


def test_evaluations_that_any_released_version_recorded_read_the_same(
    store: Store, connection: psycopg.Connection[Any]
) -> None:
    case = Case(dialect="promptguard", case_id="p", suite_id="s", turns=(TURN,), document={})
    stored = PromptStored(
        originator_id=OF_EVALUATION["prompt_id"], originator_version=1, run_id=None,
        timestamp=WHEN, digest="d", case=case,
    )  # fmt: skip
    record(store, stored)
    outcomes = versions("ResponseReceived") + versions("ErrorRecorded")
    for sent, outcome in product(versions("RequestSent"), outcomes):
        run = uuid4()
        of = json.loads(sent.read_bytes())
        key = EvaluationKey(run, UUID(of["prompt_id"]), of["model_key"], of["repetition"])
        stream = key.evaluation_id
        begin(store, run)
        append(store, stream, 1, sent, run)
        append(store, stream, 2, outcome, run)
        (document,) = one(
            connection,
            "SELECT document FROM promptguard.evaluations WHERE evaluation_id = %s",
            stream,
        )
        history = fold(row.event() for row in read_streams(connection, [stream])[stream])
        assert document == evaluation_record(case, history)
