"""The runs that are simulated: small, of several shapes, planned without files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any
from uuid import UUID

from failproof_es.configuration.loading import digest_of
from failproof_es.configuration.schema import Configuration
from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.experiment import question_digest
from failproof_es.events import (
    CasesPlanned,
    Event,
    ModelPrices,
    ModelSnapshot,
    PricesRecorded,
    PromptStored,
    RunStarted,
)
from failproof_es.models import model_keys, snapshot
from failproof_es.store.writing.event_header import Draft, EventHeader, to_events
from failproof_es.support import clock


@dataclass(frozen=True, slots=True)
class Shape:
    """What a run is like."""

    cases: int
    models: int
    servers: int
    repetitions: int
    workers: int
    retries: int
    patience_ms: int

    @classmethod
    def draw(cls, random: Random) -> Shape:
        """Mostly tiny."""
        models = random.choice((1, 1, 2))
        return cls(
            cases=random.randint(1, 3),
            models=models,
            servers=random.randint(1, models),
            repetitions=random.choice((1, 1, 1, 2)),
            workers=random.randint(1, 3),
            retries=random.randint(0, 2),
            patience_ms=random.choice((3_000, 900_000)),
        )


@dataclass(frozen=True)
class Prepared:
    """Everything of a shape that no seed changes."""

    configuration: Configuration
    resolved: dict[str, Any]
    digest: str
    models: tuple[ModelSnapshot, ...]
    cases: tuple[Case, ...]


@cache
def prepared(shape: Shape) -> Prepared:
    """The configuration and the cases of a shape."""
    configuration = Configuration.model_validate(
        {
            "test_run": {"name": "simulated"},
            "models": [
                {
                    "provider": "ollama",
                    "model": f"model-{n}",
                    "base_url": f"http://server-{n % shape.servers}.test",
                }
                for n in range(shape.models)
            ],
            "prompts": {"source": "file", "path": "cases.jsonl", "dialect": "failproof"},
            "execution": {
                "parallel_workers": shape.workers,
                "retry_attempts": shape.retries,
                "retry_delay_ms": 100,
                "timeout_per_request_ms": 2_000,
                "rate_limit_wait_ms": shape.patience_ms,
                "repetitions": shape.repetitions,
            },
        }
    )
    resolved = configuration.model_dump(mode="json", by_alias=True)
    keys = model_keys(configuration.models)
    models = tuple(map(snapshot, configuration.models, keys))
    cases = tuple(map(_case, range(shape.cases)))
    return Prepared(configuration, resolved, digest_of(resolved), models, cases)


def _case(number: int) -> Case:
    said = f"Question {number}: yes or no?"
    expected = {"expected_response": "yes"}
    return Case(
        dialect="failproof",
        case_id=f"case-{number}",
        suite_id="simulated",
        turns=(Turn(role="user", content=said),),
        expectation=expected,
        document={"case_id": f"case-{number}", "suite_id": "simulated", "prompt": said, **expected},
    )


def planned_events(run_id: UUID, plan: Prepared) -> Sequence[Event]:
    """What stands in the log before a run is driven: its prompts, and its plan."""
    configuration, digests = plan.configuration, tuple(case.digest() for case in plan.cases)
    prompts = [
        Draft(
            PromptStored,
            EventHeader(prompt_id(digest), None),
            digest=digest,
            case=case,
        )
        for digest, case in zip(digests, plan.cases, strict=True)
    ]
    repetitions = configuration.execution.repetitions
    started = RunStarted(
        originator_id=run_id,
        originator_version=1,
        run_id=run_id,
        timestamp=clock.utc_now(),
        name="simulated",
        run_number=1,
        attempt=1,
        configuration=plan.resolved,
        configuration_digest=plan.digest,
        models=plan.models,
        suites=(),
        dialect="failproof",
        planned_cases=len(plan.cases),
        planned_evaluations=len(plan.cases) * len(plan.models) * repetitions,
        code_version="0",
        packages={},
        who="somebody",
        where="somewhere",
    )
    header = EventHeader.of_run(run_id)
    questions = tuple(question_digest(case.model_dump(mode="json")) for case in plan.cases)
    rest = [
        Draft(CasesPlanned, header, chunk=0, digests=digests, questions=questions),
        Draft(
            PricesRecorded, header, models=tuple(ModelPrices(model_key=m.key) for m in plan.models)
        ),
    ]
    return [*to_events(prompts, {}), started, *to_events(rest, {run_id: 1})]
