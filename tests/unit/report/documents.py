"""Documents of runs, for tests of what is made of them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from failproof_es.assurance.protection_status import ProtectionStatus
from failproof_es.catalogue.run import (
    Annotation,
    AskedAgain,
    BranchedFrom,
    EvaluationCounts,
    RunDocument,
    Spending,
    ValidationShown,
)
from failproof_es.catalogue.run_numbers import NO_ACCURACY
from failproof_es.engine.related_runs.attempts import Attempts
from failproof_es.events import ModelSnapshot, SuiteSnapshot
from failproof_es.reading.as_of import AsOf
from failproof_es.reading.workers import RunWorker

MOMENT = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
COUNTS = EvaluationCounts(
    planned=40, finished=40, scored=40, passed=40, failed=0, abandoned=0, lost=0,
    awaiting_review=0, carried_over=0, in_flight=0, requests=40, answers=40, retries=0,
    failed_requests=0, orphaned_requests=0,
)  # fmt: skip
SOUND = ValidationShown(passed=True, checked={}, findings=(), more={}, cost_usd={})
"""A validation that found nothing."""
DAMAGED = SOUND.model_copy(update={"passed": False})


def document(name: str = "r", **more: Any) -> RunDocument:
    """The document of a completed run that says `name` wherever data can."""
    model = ModelSnapshot(key=name, provider=name, model=name)
    fields: dict[str, Any] = {
        "as_of": AsOf(99, 99, 0, "log", {}, None),
        "run_id": UUID(int=1),
        "run_number": 1,
        "name": name,
        "status": "completed",
        "reason": None,
        "started_at": MOMENT,
        "ended_at": None,
        "who": name,
        "where": name,
        "code_version": "1",
        "packages": {},
        "dialect": "redteam",
        "configuration_digest": "ab" * 32,
        "models": (model,),
        "judges": (model,),
        "suites": (SuiteSnapshot(path=name, sha256="cd" * 32, dialect="redteam", cases=40),),
        "seeds": {"sample": 7},
        "repetitions": 2,
        "planned_cases": 40,
        "selection": None,
        "branched_from": None,
        "registration": None,
        "chosen_by_result": None,
        "imported": None,
        "remarks": (),
        "judges_measured": name,
        "times_apart": None,
        "skipped_defects": 0,
        "counts": COUNTS,
        "passed": None,
        "accuracy": NO_ACCURACY,
        "classes": None,
        "unscored": {},
        "unscored_reasons": (),
        "by_model": (),
        "jury": (),
        "by_suite": (),
        "errors": (),
        "more_errors": 0,
        "gates": {},
        "closings": (),
        "spending": Spending(
            cost_usd=None, known_usd=0, possibly_charged=0, most_usd=None, unpriced_answers=40,
            unpriced=(name,), max_spend_usd=None,
            of_ceiling=None,
            input_tokens=None, output_tokens=None, input_tokens_unknown=40,
            output_tokens_unknown=40,
        ),
        "annotation": Annotation(
            name=name, tags=(name,), note=name, hidden=False, who=name, at=MOMENT
        ),
        "price_sources": {},
        "latency_p50_ms": None,
        "latency_p95_ms": None,
        "reviews": {},
        "by_people": (),
        "evaluations_unread": False,
        "validation": None,
        "protection": ProtectionStatus(False, 0, 0, 0, (), True),
        "contradictions": 0,
        "attempts": Attempts("ef" * 32, 1, 1, (), ()),
        "limits": (),
        "shares": (),
        "holders": (),
        "undriven": None,
        "workers": (RunWorker(UUID(int=2), name, name, 7, "1", MOMENT),),
        "history": (),
        "configuration": {},
    }  # fmt: skip
    return RunDocument(**fields | more)


def branched(name: str) -> BranchedFrom:
    """A branch that asks one evaluation again."""
    return BranchedFrom(
        says="asks again what failed in run 7, so its pass rate is too high",
        run_id=UUID(int=9),
        run_number=7,
        position=1_234,
        settings={name: name},
        reuse=False,
        again="abandoned",
        asked_again=(
            AskedAgain(suite=name, case=name, model=name, repetition=1, ended_as=name, reason=name),
        ),
    )
