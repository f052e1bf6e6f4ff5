"""Building blocks for given/when/then: events of one evaluation, a dialect that is plain."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Abandon,
    Classification,
    Classify,
    DeclareOrphaned,
    Done,
    EvaluationKey,
    Judgement,
    Judging,
    ModelReply,
    ReadJudgement,
    Score,
    ScoreReply,
    Send,
    Transcript,
    fold,
    next_action,
)
from failproof_es.core.request_body import shortened_body
from failproof_es.events import (
    VOIDS_ANSWER,
    AttemptOrphaned,
    CarriedOver,
    Classified,
    Disposition,
    ErrorRecorded,
    EvaluationAbandoned,
    EvaluationEvent,
    Judged,
    Purpose,
    RequestSent,
    ResponseReceived,
    Scored,
    Usage,
)

RUN = UUID(int=1)
PROMPT = UUID(int=2)
KEY = EvaluationKey(RUN, PROMPT, "model", 1)
BEGIN = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def a_case(*contents: str) -> Case:
    turns = tuple(Turn(role="user", content=content) for content in contents or ("hello",))
    return Case(dialect="plain", case_id="c1", suite_id="s", turns=turns)


class History:
    """Events numbered as they are added."""

    def __init__(self, events: Sequence[EvaluationEvent] = ()) -> None:
        self.events = list(events)

    def _head(self) -> dict[str, Any]:
        version = len(self.events) + 1
        return {
            "originator_id": KEY.evaluation_id,
            "originator_version": version,
            "run_id": RUN,
            "timestamp": BEGIN + timedelta(milliseconds=version),
            "prompt_id": PROMPT,
            "model_key": "model",
            "repetition": 1,
        }

    def _add(self, event: EvaluationEvent) -> History:
        self.events.append(event)
        return self

    def _asked(
        self, attempt: int, turn: int, purpose: Purpose, judge: str | None
    ) -> dict[str, Any]:
        """Which request it is. A judge that is not named is the first one."""
        named = judge or "j1" if purpose == "judge" else None
        return {"purpose": purpose, "judge": named, "turn": turn, "attempt": attempt}

    def sent(
        self,
        attempt: int = 1,
        turn: int = 0,
        purpose: Purpose = "target",
        judge: str | None = None,
    ) -> History:
        return self._add(
            RequestSent(
                **self._head(), **self._asked(attempt, turn, purpose, judge), model="model",
                parameters={}, endpoint="http://x", **shortened_body(b"{}", None),
            )
        )  # fmt: skip

    def answered(
        self,
        text: str = "hi",
        attempt: int = 1,
        turn: int = 0,
        purpose: Purpose = "target",
        judge: str | None = None,
        finish_reason: str = "stop",
    ) -> History:
        return self._add(
            ResponseReceived(
                **self._head(), **self._asked(attempt, turn, purpose, judge), status=200,
                headers={}, body="{}", text=text, finish_reason=finish_reason, latency_ms=5.0,
                usage=Usage(input_tokens=3, output_tokens=2),
            )
        )  # fmt: skip

    def failed(
        self,
        attempt: int = 1,
        disposition: Disposition = "transient",
        turn: int = 0,
        purpose: Purpose = "target",
        retry_after_s: float | None = None,
        stack_trace: str = "",
        kind: str = "timeout",
        judge: str | None = None,
    ) -> History:
        return self._add(
            ErrorRecorded(
                **self._head(), **self._asked(attempt, turn, purpose, judge), kind=kind,
                message="no answer", disposition=disposition, stack_trace=stack_trace,
                retry_after_s=retry_after_s,
            )
        )  # fmt: skip

    def lost(
        self,
        attempt: int = 1,
        turn: int = 0,
        purpose: Purpose = "target",
        judge: str | None = None,
    ) -> History:
        asked = self._asked(attempt, turn, purpose, judge)
        return self._add(AttemptOrphaned(**self._head(), **asked, reason="killed"))

    def classified(self, primary: str = "pass", details: dict[str, Any] | None = None) -> History:
        return self._add(
            Classified(
                **self._head(),
                primary=primary,
                details=details or {},
                classifier="plain",
                classifier_version="1",
            )
        )

    def asked_judge(self, judge: str, reply: str, attempt: int = 1) -> History:
        self.sent(attempt, turn=1, purpose="judge", judge=judge)
        return self.answered(reply, attempt, turn=1, purpose="judge", judge=judge)

    def judged(
        self,
        judge: str,
        verdict: dict[str, Any] | None,
        *,
        final: bool = True,
        problem: str | None = None,
    ) -> History:
        return self._add(
            Judged(
                **self._head(),
                judge=judge,
                verdict=verdict,
                problem="it says nothing" if verdict is None else problem,
                final=final,
                grader="plain",
                grader_version="1",
            )
        )

    def carried_over(self) -> History:
        return self._add(
            CarriedOver(
                **self._head(),
                source_run_id=UUID(int=3),
                source_evaluation_id=UUID(int=4),
                source_events=4,
                source_sha256="00",
            )
        )

    def scored(self, accuracy: float = 1.0) -> History:
        return self._add(
            Scored(
                **self._head(),
                scores={"accuracy": accuracy},
                passed=accuracy == 1,
                reason="",
                scorer="plain",
                scorer_version="1",
            )
        )

    def abandoned(self, kind: str = "timeout") -> History:
        return self._add(EvaluationAbandoned(**self._head(), kind=kind, reason="no answer"))


class PlainDialect:
    """One request per user turn; `judged` asks a judge as well."""

    def __init__(self, *, judged: bool = False) -> None:
        self.judged = judged

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        asked = len(transcript.replies)
        return case.turns[: asked + 1] if asked < len(case.turns) else None

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        return (Turn(role="user", content="judge this"),) if self.judged else None

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        primary = "error" if transcript.failure else "pass"
        return Classification(primary, {}, "plain", "1")

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score:
        return Score({"accuracy": 1.0}, "", "plain", "1", passed=True)


def lived(
    turns: tuple[str, ...],
    judges: tuple[str, ...],
    outcomes: Sequence[str],
    *,
    retries: int,
    readings: int = 2,
) -> list[EvaluationEvent]:
    """The events of an evaluation that meets these outcomes, request by request.

    It is as the engine would record it, and unfinished where more requests are needed. A judge
    gives at most so many `readings`.
    """
    history = History()
    world = iter(outcomes)
    dialect, judging = PlainDialect(judged=bool(judges)), Judging(judges, attempts=readings)
    while True:
        state = fold(history.events)
        action = next_action(
            state, a_case(*turns), dialect, retry_attempts=retries, judging=judging
        )
        match action:
            case Send(purpose, turn, attempt, judge=judge):
                outcome = next(world, None)
                if outcome is None:
                    return history.events
                history.sent(attempt, turn, purpose, judge)
                if outcome in ("answer", "nonsense", "another model"):
                    history.answered(outcome, attempt, turn, purpose, judge)
                    if outcome == "another model":
                        history.failed(
                            attempt, "final", turn, purpose, kind=VOIDS_ANSWER, judge=judge
                        )
                elif outcome != "killed":
                    history.failed(attempt, outcome, turn, purpose, judge=judge)  # type: ignore[arg-type]
            case DeclareOrphaned(request):
                history.lost(request.attempt, request.turn, request.purpose, request.judge)
            case Classify(transcript):
                history.classified("error" if transcript.failure else "pass")
            case ReadJudgement(asked, _, answer, last):
                readable = isinstance(answer, ModelReply) and answer.text == "answer"
                verdict = {"pass": True} if readable else None
                history.judged(asked, verdict, final=last or readable)
            case ScoreReply():
                history.scored()
            case Abandon(failure):
                history.abandoned(failure.kind)
            case Done():
                return history.events
