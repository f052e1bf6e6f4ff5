"""The runs that are simulated: small, of several shapes, planned without files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any
from uuid import UUID

from failproof_es.configuration.loading import digest_of
from failproof_es.configuration.schema import Configuration
from failproof_es.core.case import Case, Turn, prompt_id
from failproof_es.core.experiment import question_digest
from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.shipped.failproof import FailProof
from failproof_es.events import (
    CasesPlanned,
    Event,
    ModelPrices,
    ModelSnapshot,
    PricesRecorded,
    PromptStored,
    RunStarted,
    TokenPrices,
)
from failproof_es.models import model_keys, snapshot
from failproof_es.store.writing.event_header import Draft, EventHeader, to_events
from failproof_es.support import clock
from tests.asked import ASKED
from tests.simulation.world.conversation import NAME as CONVERSATION
from tests.simulation.world.conversation import Conversation

MOST_OUTPUT_TOKENS = 100
RATE = TokenPrices(input=Decimal(1), output=Decimal(4))
"""So a token costs 1 or 4 millionths of a dollar, and sums are whole numbers."""


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
    ceiling: int = 0
    """The spend ceiling in millionths of a dollar; 0 for none."""
    judges: int = 0
    """How many models judge each reply; 0 for the dialect that needs none."""
    judged_late: bool = False
    """Whether the judges are asked once every model has answered everything."""
    at_once: int | None = None
    """The configured limits of each server; `None` for none."""
    per_minute: int | None = None
    tokens_per_minute: int | None = None

    @classmethod
    def draw(cls, random: Random, *, ceiling: bool = False, judged: bool = False) -> Shape:
        """Mostly tiny."""
        models = 1 if judged else random.choice((1, 1, 2))
        return cls(
            cases=random.randint(1, 3),
            models=models,
            servers=random.randint(1, models),
            repetitions=random.choice((1, 1, 1, 2)),
            workers=random.randint(1, 3),
            retries=random.randint(0, 2),
            patience_ms=random.choice((3_000, 900_000)),
            ceiling=random.choice((1_000, 1_700, 2_500, 4_000, 8_000)) if ceiling else 0,
            judges=random.choice((1, 1, 2)) if judged else 0,
            judged_late=judged and random.random() < 0.3,
        )


@dataclass(frozen=True)
class Prepared:
    """Everything of a shape that no seed changes."""

    configuration: Configuration
    resolved: dict[str, Any]
    digest: str
    models: tuple[ModelSnapshot, ...]
    judges: tuple[ModelSnapshot, ...]
    cases: tuple[Case, ...]
    dialect: Dialect


@cache
def prepared(shape: Shape) -> Prepared:
    """The configuration and the cases of a shape."""
    dialect: Dialect = Conversation() if shape.judges else FailProof()
    configuration = Configuration.model_validate(
        {
            "test_run": {"name": "simulated"},
            "models": [_model(shape, f"model-{n}", n) for n in range(shape.models)],
            "prompts": {"source": "file", "path": "cases.jsonl", "dialect": dialect.name},
            "execution": {
                "parallel_workers": shape.workers,
                "retry_attempts": shape.retries,
                "retry_delay_ms": 100,
                "timeout_per_request_ms": 2_000,
                "rate_limit_wait_ms": shape.patience_ms,
                "repetitions": shape.repetitions,
                "max_spend_usd": shape.ceiling / 1_000_000 or None,
            },
            "judges": [_model(shape, f"judge-{n}", n) for n in range(shape.judges)] or None,
            "judging": {"begins": "after_all_answers" if shape.judged_late else "with_each_answer"},
        }
    )
    resolved = configuration.model_dump(mode="json", by_alias=True)
    keys = model_keys(configuration.models)
    judging = [f"judge:{key}" for key in model_keys(configuration.asked_judges)]
    models = tuple(map(snapshot, configuration.models, keys))
    judges = tuple(map(snapshot, configuration.asked_judges, judging))
    cases = tuple(_case(dialect.name, n) for n in range(shape.cases))
    digest = digest_of(resolved)
    return Prepared(configuration, resolved, digest, models, judges, cases, dialect)


def _model(shape: Shape, name: str, number: int) -> dict[str, Any]:
    return {
        "provider": "ollama",
        "model": name,
        "base_url": f"http://server-{number % shape.servers}.test",
        "max_tokens": MOST_OUTPUT_TOKENS,
        "concurrent_requests": shape.at_once,
        "requests_per_minute": shape.per_minute,
        "tokens_per_minute": shape.tokens_per_minute,
    }


def _case(dialect: str, number: int) -> Case:
    said = f"Question {number}: yes or no?"
    expected = {"expected_response": "yes"}
    turns = [Turn(role="user", content=said)]
    if dialect == CONVERSATION:
        turns.append(Turn(role="user", content="Are you sure?"))
    return Case(
        dialect=dialect,
        case_id=f"case-{number}",
        suite_id="simulated",
        turns=tuple(turns),
        expectation=expected,
        document={"case_id": f"case-{number}", "suite_id": "simulated", "prompt": said, **expected},
    )


def planned_events(run_id: UUID, number: int, plan: Prepared) -> Sequence[Event]:
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
        run_number=number,
        **ASKED,
        configuration=plan.resolved,
        configuration_digest=plan.digest,
        models=plan.models,
        judges=plan.judges,
        suites=(),
        dialect=plan.dialect.name,
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
            PricesRecorded,
            header,
            models=tuple(
                ModelPrices(model_key=model.key, source="simulated", rates=(RATE,))
                for model in (*plan.models, *plan.judges)
            ),
        ),
    ]
    return [*to_events(prompts, {}), started, *to_events(rest, {run_id: 1})]
