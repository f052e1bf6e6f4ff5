"""The content of a verified evidence bundle, as lines for people.

`docs/reference/verify_evidence.py` prints the same lines. Texts are not escaped yet.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import ValidationError

from failproof_es.catalogue.wording import describe_model
from failproof_es.cli.rendering.request_lines import body_lines, field, told
from failproof_es.core.case import names_of_case, review_id
from failproof_es.core.request_body import RequestBodies
from failproof_es.events import OWN_ENDINGS, RUN_ENDINGS, ModelSnapshot, RequestSent
from failproof_es.gate_words import gate_line
from failproof_es.ledger.bundle import Bundle
from failproof_es.ledger.event_line import ProvenEvent
from failproof_es.ledger.run_reader import REVIEW, UNREADABLE
from failproof_es.ledger.state import read_state
from failproof_es.problems import InvalidInput
from failproof_es.store.errors import UnreadableState
from failproof_es.store.mapper import decode
from failproof_es.support.untrusted_text import one_line

SHOWN: Mapping[str, tuple[str, ...]] = {
    "RequestSent": ("judge", "turn", "attempt", "model", "endpoint"),
    "ResponseReceived": ("judge", "model", "finish_reason", "text", "tool_calls", "refusal"),
    "ErrorRecorded": ("judge", "kind", "message", "status"),
    "AttemptOrphaned": ("judge", "reason"),
    "Classified": ("primary", "details", "classifier", "classifier_version"),
    "Judged": ("judge", "verdict", "problem", "grader", "grader_version"),
    "Scored": ("passed", "scores", "reason", "scorer", "scorer_version", "graders"),
    "EvaluationAbandoned": ("kind", "reason"),
    "CarriedOver": ("source_run_id", "source_evaluation_id"),
    REVIEW: (
        "reviewer", "who", "where", "blind", "verdict", "items", "severity", "tags", "notes",
    ),
}  # fmt: skip
"""The fields of each event that are shown; of any other event all."""


_NO_EVALUATION = frozenset({"RunStarted", "PromptStored", REVIEW})


class BundledEvaluation(NamedTuple):
    """An evaluation of the run in a bundle.

    `asked` is the payload of its first event. `history` are its events, those of the source if it
    was carried over.
    """

    stream_id: UUID
    asked: dict[str, Any]
    history: list[ProvenEvent]
    carried_over: bool

    @property
    def final(self) -> ProvenEvent | None:
        """The event that ended it; `None` if it did not end."""
        return self.history[-1] if self.history[-1].topic in OWN_ENDINGS else None


class BundledRun:
    """The run in a verified bundle, read for people."""

    def __init__(self, bundle: Bundle) -> None:
        self._manifest = bundle.manifest
        self._streams: dict[UUID, list[ProvenEvent]] = {}
        for event in bundle.events:
            self._streams.setdefault(event.stream_id, []).append(event)

    # -- the result --------------------------------------------------------------------------

    def result(self) -> Iterator[str]:
        """The person who ran it, passed evaluations by model, the gates, and the seal."""
        own = self._streams[UUID(self._manifest["run_id"])]
        started = _payload(own[0])
        sealed_at = max(n for n, event in enumerate(own) if event.topic == "RunSealed")
        ended = next(event for event in reversed(own[:sealed_at]) if event.topic in RUN_ENDINGS)
        yield f"by {told(started.get('who'))} on {told(started.get('where'))}"
        yield from self._model_lines(started, _payload(ended)["counts"]["planned"])
        for judge in started.get("judges", []):
            yield f"judge {told(judge.get('key')).removeprefix('judge:')}: {_describe(judge)}"
        yield from _gate_lines(ended)
        yield (
            f"seal {self._manifest['seal']} of {self._manifest['sealed_events']} events "
            f"in {self._manifest['sealed_streams']} streams"
        )

    def _model_lines(self, started: dict[str, Any], planned_in_all: int) -> Iterator[str]:
        results: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for evaluation in self._evaluations:
            result, _ = _result_of(evaluation.final)
            results[told(evaluation.asked.get("model_key"))][result] += 1
        models = {told(model.get("key")): model for model in started["models"]}
        planned, rest = divmod(planned_in_all, len(models) or 1)
        for key in {**models, **results}:
            passed, failed = results[key]["passed"], results[key]["failed"]
            scored = passed + failed + results[key]["scored"]
            of = "" if rest or key not in models else f" of {planned} planned"
            place = f"; {_describe(models[key])}" if key in models else ""
            yield f"model {key}: passed {passed} of {passed + failed}, scored {scored}{of}{place}"

    @cached_property
    def _evaluations(self) -> list[BundledEvaluation]:
        """The run's own evaluations, in the order of their first events."""
        evaluations = []
        for stream_id, events in self._streams.items():
            if events[0].topic in _NO_EVALUATION:
                continue
            first = _payload(events[0])
            if first.get("run_id") == self._manifest["run_id"]:
                carried_over = events[0].topic == "CarriedOver"
                source = UUID(first["source_evaluation_id"]) if carried_over else stream_id
                evaluations.append(
                    BundledEvaluation(stream_id, first, self._streams[source], carried_over)
                )
        return evaluations

    def _cases(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each planned case, and the id of its prompt."""
        for stream_id, events in self._streams.items():
            if events[0].topic == "PromptStored":
                yield str(stream_id), _payload(events[0])["case"]

    # -- its evaluations ---------------------------------------------------------------------

    def evaluations(self) -> Iterator[str]:
        """A line for each evaluation, in the order in which they ended; unfinished ones last."""
        names = {prompt: _names_of(case)[1] for prompt, case in self._cases()}
        ended = [evaluation for evaluation in self._evaluations if evaluation.final is not None]
        ended.sort(key=lambda evaluation: evaluation.history[-1].index)
        unfinished = (evaluation for evaluation in self._evaluations if evaluation.final is None)
        for evaluation in (*ended, *unfinished):
            yield _evaluation_line(evaluation, names[evaluation.asked["prompt_id"]])

    def case(self, wanted: str) -> Iterator[str]:
        """All about one case, `CASE` or `SUITE/CASE`; of every suite that has a case of this id.

        Raises `InvalidInput` if there is none.
        """
        has_case = False
        for prompt, case in self._cases():
            names = _names_of(case)
            if wanted in (*names, *map(one_line, names)):
                has_case = True
                yield from _prompt_lines(case)
                for evaluation in self._evaluations:
                    if evaluation.asked.get("prompt_id") == prompt:
                        yield from self._evaluation_lines(evaluation, names[1])
        if not has_case:
            raise InvalidInput.because(
                "unknown-case", f"the bundle has no case {wanted!r}", remedy="print all with --list"
            )

    def _evaluation_lines(self, evaluation: BundledEvaluation, name: str) -> Iterator[str]:
        model, repetition = map(told, map(evaluation.asked.get, ("model_key", "repetition")))
        yield ""
        yield f"{name}: {model}, repetition {repetition}"
        own = self._streams[evaluation.stream_id] if evaluation.carried_over else []
        reviews = self._streams.get(review_id(evaluation.stream_id), [])
        bodies = RequestBodies()
        for event in (*evaluation.history, *own, *reviews):
            yield from _event_lines(event, bodies)


def _payload(event: ProvenEvent) -> dict[str, Any]:
    return read_state(event.state)


def _describe(model: dict[str, Any]) -> str:
    try:
        return describe_model(ModelSnapshot.model_validate(model))
    except ValidationError:  # signed by a log, but written by no engine
        return told(model)


def _gate_lines(ended: ProvenEvent) -> Iterator[str]:
    gates = _payload(ended).get("gates") if ended.topic == "RunCompleted" else None
    if type(gates) is not dict or not gates:
        yield "no gates judged"
        return
    for name, gate in gates.items():
        try:
            yield gate_line(name, gate)
        except UNREADABLE:
            yield f"gate {name}: {told(gate)}"


# -- evaluations and cases -----------------------------------------------------------------------


def _names_of(case: dict[str, Any]) -> tuple[str, str]:
    return names_of_case(told(case.get("suite_id")), told(case.get("case_id")))


def _evaluation_line(evaluation: BundledEvaluation, name: str) -> str:
    result, why = _result_of(evaluation.final)
    classes = [event for event in evaluation.history if event.topic == "Classified"]
    of = told(_payload(classes[-1]).get("primary")) if classes and evaluation.final else "-"
    asked = evaluation.asked
    model = f"{told(asked.get('model_key'))} {told(asked.get('repetition'))}"
    carried = "  carried over" if evaluation.carried_over else ""
    return f"{result:<10}  {of:<12}  {model}  {name}{carried}{why}"


def _result_of(final: ProvenEvent | None) -> tuple[str, str]:
    """(result, reason) of an evaluation; the reason is empty unless it failed or has no score."""
    if final is None:
        return "unfinished", ""
    ended = _payload(final)
    if final.topic == "EvaluationAbandoned":
        return "no score", f"  {told(ended.get('kind'))}: {told(ended.get('reason'))}"
    if ended.get("passed") is False:
        return "failed", f"  {told(ended.get('reason'))}"
    return "passed" if ended.get("passed") is True else "scored", ""


def _prompt_lines(case: dict[str, Any]) -> Iterator[str]:
    yield f"case {_names_of(case)[1]}"
    turns = case["turns"] if type(case["turns"]) is list else [case["turns"]]
    for turn in turns:
        message = turn if type(turn) is dict else {"content": turn}
        yield from field(told(message.get("role")), message.get("content"))
    for name, value in case.items():
        if name in ("suite_id", "case_id", "turns"):
            continue
        if name == "expectation" and type(value) is dict and value:
            for part, content in value.items():
                yield from field(f"expectation.{part}", content)
        else:
            yield from field(name, value)


def _event_lines(event: ProvenEvent, bodies: RequestBodies) -> Iterator[str]:
    payload = _payload(event)
    yield f"  {told(payload.get('timestamp'))} {event.topic}"
    for name in SHOWN.get(event.topic, payload):
        yield from field(name, payload.get(name))
    if event.topic == RequestSent.__name__:
        yield from _request_lines(event, bodies)


def _request_lines(event: ProvenEvent, bodies: RequestBodies) -> Iterator[str]:
    try:
        request = decode(event.topic, event.state, event.stream_id, event.version)
    except UnreadableState:  # then as much as is in this event
        request = None
    if isinstance(request, RequestSent):
        sent = bodies.rebuild(request)
        yield from body_lines(sent.text, is_as_sent=sent.problem is None)
    else:
        yield from body_lines(told(_payload(event).get("body")), is_as_sent=False)
