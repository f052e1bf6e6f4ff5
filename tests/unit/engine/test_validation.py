"""Checking an ended run: each thing that must not be is found, and nothing else is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import orjson

from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.evaluation import EvaluationKey, Transcript
from failproof_es.core.run import Run
from failproof_es.engine.evaluation_outcomes import evaluation_outcome
from failproof_es.engine.finish.other_streams import OtherStreams
from failproof_es.engine.finish.validation import Validation
from failproof_es.engine.history import RecordedEvaluation
from failproof_es.events import (
    AnswerImported,
    Classified,
    Counts,
    EvaluationAbandoned,
    EvaluationEvent,
    ImportedReply,
    ModelPrices,
    ModelSnapshot,
    Redaction,
    RequestSent,
    ResponseReceived,
    RunStarted,
    Scored,
    TokenPrices,
    Usage,
)
from tests.asked import ASKED
from tests.every import every
from tests.unit.event_samples import OF_RUN
from tests.unit.histories import PlainDialect

RUN = UUID(int=7)
CASE = Case(
    dialect="plain",
    case_id="c",
    suite_id="s",
    turns=(Turn(role="user", content="naïve \x00 \u202e {{x}}"),),
)
MODEL = ModelSnapshot(key="m", provider="openai", model="m", settings={"base_url": "http://x/v1"})
PRICES = {
    "m": ModelPrices(
        model_key="m", source="s", rates=(TokenPrices(input=Decimal(1), output=Decimal(2)),)
    )
}
STARTED = RunStarted(
    **{**OF_RUN, "originator_version": 1}, name="n", run_number=1, **ASKED,
    configuration={},
    configuration_digest="d", models=(MODEL,), suites=(), dialect="plain", planned_cases=1,
    planned_evaluations=1, code_version="1", packages={}, who="w", where="h",
)  # fmt: skip
ANSWER = {
    "model": "m",
    "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2},
}


def history() -> list[EvaluationEvent]:
    key = EvaluationKey(RUN, prompt_id(CASE.digest()), "m")
    asked = {"model": "m", "messages": [turn.model_dump() for turn in CASE.turns]}
    body = orjson.dumps(asked).decode()
    attempt: dict[str, Any] = {"purpose": "target", "turn": 0, "attempt": 1}

    def head(version: int) -> dict[str, Any]:
        return {
            "originator_id": key.evaluation_id, "originator_version": version, "run_id": RUN,
            "timestamp": datetime(2026, 11, 21, tzinfo=UTC), "prompt_id": key.prompt_id,
            "model_key": "m", "repetition": 1,
        }  # fmt: skip

    return [
        RequestSent(
            **head(1), **attempt, model="m", parameters={}, endpoint="http://x/v1", body=body,
            body_sha256=hashlib.sha256(body.encode()).hexdigest(),
        ),
        ResponseReceived(
            **head(2), **attempt, status=200, headers={}, body=orjson.dumps(ANSWER).decode(),
            text="hi", finish_reason="stop", model="m", latency_ms=1.0,
            usage=Usage(input_tokens=3, output_tokens=2),
        ),
        Classified(**head(3), primary="pass", details={}, classifier="c", classifier_version="1"),
        Scored(**head(4), scores={"accuracy": 1.0},
            passed=True, reason="", scorer="s", scorer_version="1"),
    ]  # fmt: skip


def checked(
    events: Sequence[EvaluationEvent],
    *,
    case: Case = CASE,
    scored: int = 1,
    abandoned: int = 0,
    streams: int = 1,
    known: int = 1,
    imported: bool = False,
) -> dict[str, Any]:
    key = EvaluationKey(RUN, prompt_id(CASE.digest()), "m")
    validation = Validation(STARTED, PlainDialect(), imported)  # type: ignore[arg-type]
    recorded = RecordedEvaluation(key, case, events)
    validation.check(recorded)
    counts = Counts(planned=1, finished=1, scored=scored, abandoned=abandoned)
    outcome = evaluation_outcome(Run(prices=PRICES), recorded)
    return validation.end(OtherStreams(counts), known, streams, outcome.spending)


def altered(at: int, **changes: Any) -> list[EvaluationEvent]:
    events = history()
    events[at] = events[at].model_copy(update=changes)
    return events


def test_a_run_that_is_whole_passes_and_its_cost_is_counted_anew() -> None:
    found = checked(history())
    assert found["passed"] and not found["findings"]
    assert found["checked"] == {"evaluations": 1, "events": 4, "requests": 1, "responses": 1}
    assert found["usage"] == {"m": Usage(input_tokens=3, output_tokens=2)}
    assert float(found["cost_usd"]["m"]) == (3 * 1.0 + 2 * 2.0) / 1_000_000


def raw(**changes: Any) -> str:
    return orjson.dumps({**ANSWER, **changes}).decode()


def of_another_tool() -> list[EvaluationEvent]:
    """The history with an imported answer in place of the request and its response."""
    sent, _, *rest = history()
    head = {name: getattr(sent, name) for name in EvaluationEvent.model_fields}
    reply = ImportedReply(text="hello")
    first = AnswerImported(**head, source_place="p", sample_sha256="ab", replies=(reply,))
    after = (e.model_copy(update={"originator_version": n}) for n, e in enumerate(rest, 2))
    return [first, *after]


def test_an_imported_answer_in_an_imported_run_is_checked_and_cost_nothing() -> None:
    found = checked(of_another_tool(), imported=True)
    assert found["passed"] and not found["findings"]
    assert found["checked"] == {"evaluations": 1, "events": 3, "imported answers": 1}
    assert (found["usage"], found["cost_usd"]) == ({}, {})


SPOILED: dict[str, tuple[str, Callable[[], dict[str, Any]]]] = {
    "an answer was imported into a run that asked": (
        "not_asked", lambda: checked(of_another_tool())
    ),
    "a request was sent in an imported run": (
        "asked_here", lambda: checked(history(), imported=True)
    ),
    "a request's body was changed": (
        "request_altered", lambda: checked(altered(0, body=history()[0].body + " "))  # type: ignore[attr-defined]
    ),
    "the prompt was sent shortened": ("not_sent_whole", lambda: checked(altered(
        0, body='{"messages": []}', body_sha256=hashlib.sha256(b'{"messages": []}').hexdigest()))),
    "the stored prompt is another one": (
        "prompt_altered",
        lambda: checked(history(), case=CASE.model_copy(update={"case_id": "other"})),
    ),
    "the answer's text was shortened": ("misread", lambda: checked(altered(1, text="h"))),
    "the tokens were made fewer": (
        "misread", lambda: checked(altered(1, usage=Usage(input_tokens=1, output_tokens=2)))
    ),
    "the finish reason was hidden": ("misread", lambda: checked(altered(1, finish_reason=None))),
    "the raw reply is no answer": ("misread", lambda: checked(altered(1, body='{"choices": []}'))),
    "the raw reply names another model": (
        "misread", lambda: checked(altered(1, body=raw(model="other")))
    ),
    "somebody else answered": ("unknown_model", lambda: checked(altered(1, model_key="x"))),
    "an event is missing": ("impossible_history", lambda: checked(history()[1:])),
    "the evaluation has no end": ("unaccounted", lambda: checked(history()[:3], scored=0)),
    "the run counts otherwise": ("counts_differ", lambda: checked(history(), scored=0)),
    "a stream is nobody's": ("streams_differ", lambda: checked(history(), streams=2)),
    "one stands twice": ("streams_differ", lambda: checked(history(), known=0)),
}  # fmt: skip


@every("how", SPOILED)
def test_what_must_not_be_is_found(how: str) -> None:
    kind, look = SPOILED[how]
    found = look()
    assert not found["passed"]
    assert {each.kind for each in found["findings"] if each.integrity} >= {kind}


@every(
    ("word", "kind"),
    [
        ("length", "cut_off"),
        ("MAX_TOKENS", "cut_off"),
        ("SAFETY", "withheld"),
        ("malformed_tool_use", "broken"),
        ("brand_new", "unknown_finish_reason"),
    ],
)
def test_a_reply_that_did_not_end_well_is_to_be_known_and_breaks_nothing(
    word: str, kind: str
) -> None:
    body = raw(choices=[{"message": {"content": "hi"}, "finish_reason": word}])
    found = checked(altered(1, body=body, finish_reason=word))
    assert found["passed"]
    [finding] = found["findings"]
    assert (finding.kind, finding.integrity) == (kind, False)
    assert ("'brand_new'" in finding.message) == (word == "brand_new")


def test_a_server_that_ends_each_reply_with_another_word_does_not_fill_the_record() -> None:
    validation = Validation(STARTED, PlainDialect(), False)  # type: ignore[arg-type]
    key = EvaluationKey(RUN, prompt_id(CASE.digest()), "m")
    for number in range(1_000):
        body = raw(choices=[{"message": {"content": "hi"}, "finish_reason": {"number": number}}])
        word = f'{{"number":{number}}}'
        events = altered(1, body=body, finish_reason=word)
        validation.check(RecordedEvaluation(key, CASE, events))
    found = validation.end(
        OtherStreams(Counts(planned=0, finished=0, scored=0, abandoned=0)), 1, 1, {}
    )
    named = [each for each in found["findings"] if each.kind == "unknown_finish_reason"]
    assert len(named) <= 101 and any("900 replies" in each.message for each in named)


def test_an_evaluation_that_ended_without_a_score_is_to_be_known_with_its_reason() -> None:
    head = {name: getattr(history()[3], name) for name in EvaluationEvent.model_fields}
    ended = EvaluationAbandoned(**head, kind="refusal", reason="it declined")
    found = checked([*history()[:3], ended], scored=0, abandoned=1)
    assert found["passed"]
    [finding] = found["findings"]
    assert (finding.kind, finding.integrity) == ("not_scored", False)
    assert "1" in finding.message and "refusal" in finding.message


class WholeDialect(PlainDialect):
    """Asks for all turns of a case at once."""

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        return case.turns


def sent(document: dict[str, Any], case: Case, provider: str = "openai", **more: Any) -> set[str]:
    """What is found of a request with this body, asked for this case."""
    body = orjson.dumps(document).decode()
    digest = hashlib.sha256(body.encode()).hexdigest()
    request = history()[0].model_copy(update={"body": body, "body_sha256": digest, **more})
    asked = MODEL.model_copy(update={"provider": provider})
    judge = MODEL.model_copy(update={"key": "j"})
    started = STARTED.model_copy(update={"models": (asked,), "judges": (judge,)})
    validation = Validation(started, WholeDialect(judged=True), False)  # type: ignore[arg-type]
    key = EvaluationKey(RUN, prompt_id(case.digest()), "m")
    validation.check(RecordedEvaluation(key, case, [request]))
    return {each.kind for each in validation.findings} - {"unaccounted"}


def test_where_a_server_takes_the_system_message_apart_all_of_it_was_sent() -> None:
    turns = [("system", "Be kind."), ("system", "Be brief."), ("user", "Hi")]
    case = CASE.model_copy(update={"turns": tuple(Turn(role=r, content=c) for r, c in turns)})
    messages = [{"role": "user", "content": "Hi"}]
    whole = {"system": "Be kind.\n\nBe brief.", "messages": messages}
    assert sent(whole, case, "anthropic") == set()
    assert sent(whole, case, "openai") == {"not_sent_whole"}
    assert sent({**whole, "system": "Be kind."}, case, "anthropic") == {"not_sent_whole"}
    assert sent({**whole, "messages": []}, case, "anthropic") == {"not_sent_whole"}


def test_a_class_was_sent_the_whole_prompt() -> None:
    whole = "\n\n".join(turn.content for turn in CASE.turns)
    assert sent({"prompt": whole}, CASE, "python") == set()
    assert sent({"prompt": whole[:-1]}, CASE, "python") == {"not_sent_whole"}


def test_what_is_of_a_provider_that_is_not_installed_is_said_to_be_unread() -> None:
    foreign = MODEL.model_copy(update={"provider": "elsewhere"})
    started = STARTED.model_copy(update={"models": (foreign,)})
    validation = Validation(started, PlainDialect(), False)  # type: ignore[arg-type]
    key = EvaluationKey(RUN, prompt_id(CASE.digest()), "m")
    validation.check(RecordedEvaluation(key, CASE, history()))
    counts = Counts(planned=1, finished=1, scored=1, abandoned=0)
    found = validation.end(OtherStreams(counts), 1, 1, {})
    assert found["passed"]
    [finding] = found["findings"]
    assert (finding.kind, finding.integrity) == ("not_read_again", False)
    assert "'elsewhere'" in finding.message and "install" in finding.message


def test_a_request_to_a_model_that_the_run_does_not_have_is_found() -> None:
    assert "unknown_model" in sent({"messages": []}, CASE, judge="nobody", purpose="judge")


def test_a_judge_was_sent_the_whole_question_to_judges() -> None:
    judge: dict[str, Any] = {"purpose": "judge", "judge": "j"}
    asked = {"messages": [{"role": "user", "content": "judge this"}]}
    assert "not_sent_whole" not in sent(asked, CASE, **judge)
    own = {"messages": [turn.model_dump() for turn in CASE.turns]}
    assert "not_sent_whole" in sent(own, CASE, **judge)
    assert sent(own, CASE) == set()


def test_what_a_judge_used_is_counted_as_the_judges() -> None:
    asked, answer, classified, _ = history()
    judge: dict[str, Any] = {"purpose": "judge", "judge": "j", "turn": 1}
    events = [
        asked, answer, classified,
        asked.model_copy(update={"originator_version": 4, **judge}),
        answer.model_copy(update={"originator_version": 5, **judge}),
    ]  # fmt: skip
    used = Usage(input_tokens=3, output_tokens=2)
    assert checked(events, scored=0)["usage"] == {"m": used, "j": used}


def test_where_a_secret_was_replaced_the_raw_reply_says_nothing() -> None:
    replaced = Redaction(field="text", variable="KEY", count=1)
    assert checked(altered(1, text="[KEY]", redactions=(replaced,)))["passed"]


def test_of_many_findings_of_a_kind_a_hundred_are_named_and_the_rest_counted() -> None:
    validation = Validation(STARTED, PlainDialect(), False)  # type: ignore[arg-type]
    for _ in range(150):
        key = EvaluationKey(uuid4(), prompt_id(CASE.digest()), "m")
        validation.check(RecordedEvaluation(key, CASE, []))
    counts = Counts(planned=150, finished=0, scored=0, abandoned=0)
    found = validation.end(OtherStreams(counts), 0, 0, {})
    assert len(found["findings"]) == 100 and found["more"] == {"unaccounted": 50}
