"""Events of a small run, one function each: `sent(1)`, `answered(1)`, `scored(1, 1)`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

from failproof_es.events import (
    AttemptOrphaned,
    Classified,
    ErrorRecorded,
    EvaluationAbandoned,
    Judged,
    LimitChanged,
    ModelPrices,
    ModelSnapshot,
    PricesRecorded,
    RequestSent,
    ResponseReceived,
    RunStarted,
    Scored,
    TokenPrices,
    Usage,
)
from tests.asked import ASKED

RUN = UUID(int=7)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def started(*keys: str, planned: int) -> RunStarted:
    return RunStarted(
        originator_id=RUN,
        originator_version=1,
        run_id=RUN,
        timestamp=NOON,
        name="smoke",
        run_number=3,
        **ASKED,
        configuration={"execution": {"parallel_workers": 100}},
        configuration_digest="0" * 64,
        models=tuple(ModelSnapshot(key=key, provider="openai", model=key) for key in keys),
        suites=(),
        dialect="failproof",
        planned_cases=planned // len(keys),
        planned_evaluations=planned,
        code_version="0",
        packages={},
        who="someone",
        where="somewhere",
    )


def limited(
    *keys: str, allowed: int, held_s: float | None = None, server: str = "http://here/v1"
) -> LimitChanged:
    return LimitChanged(
        originator_id=RUN,
        originator_version=2,
        run_id=RUN,
        timestamp=NOON,
        server=server,
        models=keys,
        limit_before=100,
        limit_after=allowed,
        reason="rate_limited",
        retry_after_s=held_s,
        held_until=None if held_s is None else NOON + timedelta(seconds=held_s),
    )


def priced(*keys: str) -> PricesRecorded:
    """A thousandth of a dollar for each token read, a millionth for each one written."""
    rate = TokenPrices(input=Decimal(1000), output=Decimal(1))
    return PricesRecorded(
        originator_id=RUN,
        originator_version=3,
        run_id=RUN,
        timestamp=NOON,
        models=tuple(ModelPrices(model_key=key, source="list", rates=(rate,)) for key in keys),
    )


def stamp(case: int, key: str) -> dict[str, Any]:
    return {
        "originator_id": uuid5(RUN, f"{case}{key}"),
        "originator_version": 1,
        "run_id": RUN,
        "timestamp": NOON,
        "prompt_id": uuid5(RUN, str(case)),
        "model_key": key,
        "repetition": 1,
    }


def sent(case: int, key: str = "a", attempt: int = 1) -> RequestSent:
    return RequestSent(
        **stamp(case, key),
        purpose="target",
        turn=0,
        attempt=attempt,
        model=key,
        parameters={},
        endpoint="http://127.0.0.1/v1",
        body="{}",
        body_sha256="",
    )


def answered(case: int, key: str = "a", tokens: int = 10) -> ResponseReceived:
    return ResponseReceived(
        **stamp(case, key),
        purpose="target",
        turn=0,
        attempt=1,
        status=200,
        headers={},
        body="{}",
        text="ok",
        usage=Usage(input_tokens=tokens, output_tokens=1),
        latency_ms=1.0,
    )


def failed(case: int, key: str = "a") -> ErrorRecorded:
    return ErrorRecorded(
        **stamp(case, key),
        purpose="target",
        turn=0,
        attempt=1,
        kind="timeout",
        message="too slow",
        disposition="transient",
        stack_trace="",
    )


def lost(case: int, key: str = "a") -> AttemptOrphaned:
    return AttemptOrphaned(**stamp(case, key), purpose="target", turn=0, attempt=1, reason="killed")


def classified(case: int, primary: str, key: str = "a") -> Classified:
    return Classified(
        **stamp(case, key), primary=primary, details={}, classifier="c", classifier_version="1"
    )


def judged(case: int, verdict: dict[str, Any] | None, key: str = "a") -> Judged:
    return Judged(
        **stamp(case, key), judge="judge:j", verdict=verdict, problem=None, final=True,
        grader="g", grader_version="1",
    )  # fmt: skip


def scored(case: int, accuracy: int, key: str = "a") -> Scored:
    return Scored(
        **stamp(case, key),
        scores={"accuracy": accuracy},
        passed=accuracy == 1,
        reason="",
        scorer="s",
        scorer_version="1",
    )


def abandoned(case: int, key: str = "a") -> EvaluationAbandoned:
    return EvaluationAbandoned(**stamp(case, key), kind="timeout", reason="too slow")
