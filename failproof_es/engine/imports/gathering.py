"""Gathers the cases in order, the models and the answers of a recorded run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from failproof_es.core.case import prompt_id
from failproof_es.engine.imports.answer_spool import AnswerSpool
from failproof_es.engine.planning.planner import CollectedCases, require_unchanged
from failproof_es.events import ImportedError
from failproof_es.problems import InvalidInput
from failproof_es.recorded_runs.records import (
    NOT_IN_SOURCE,
    ForeignRun,
    RecordedAnswer,
    Remainder,
)
from failproof_es.support.temporary_room import room_said

LONGEST_NAME = 200
MOST_ABSENT = 1_000_000
"""Limit of evaluations without an answer, in a plan of cases x models x repetitions."""


@dataclass(slots=True)
class GatheredRun:
    """A recorded run that was read whole and found valid."""

    source: ForeignRun
    cases: CollectedCases = field(default_factory=CollectedCases)
    models: list[str] = field(default_factory=list)
    """The models' names in the source, also their keys here, in order of their first answers."""
    answers: AnswerSpool = field(default_factory=AnswerSpool)
    repetitions: int = 0

    @property
    def planned(self) -> int:
        """The number of planned evaluations: cases x models x repetitions."""
        return len(self.cases.planned_cases) * len(self.models) * self.repetitions

    def fields_of(self, prompt: UUID, model: str, repetition: int) -> dict[str, Any]:
        """The fields of `AnswerImported` for a planned evaluation.

        If the source has no answer, they hold an error that says so.
        """
        fields = self.answers.get((prompt, model, repetition))
        if fields is not None:
            return fields
        message = "the source holds no answer of this model to this case for this repetition"
        error = ImportedError(kind=NOT_IN_SOURCE, message=message)
        return {
            "source_place": "nowhere in the source",
            "sample_sha256": self.source.source_sha256,
            "replies": [],
            "error": error.model_dump(mode="json"),
        }

    def close(self) -> None:
        """Delete the temporary files."""
        self.answers.close()
        self.cases.spool.close()
        self.cases.planned_cases.close()


def gather(source: ForeignRun) -> GatheredRun:
    """Read the whole source.

    Close the result after use. Raises `InvalidInput` if the source is not a single run, changed
    while it was read, or has no answer.
    """
    gathered = GatheredRun(source)
    try:
        with room_said("the answers", "the source"):
            _read_answers(source, gathered)
        if source.paths:
            require_unchanged(source.paths, [file.sha256 for file in source.files])
        gathered.cases.complete()
        if not len(gathered.answers):
            names = ", ".join(file.name for file in source.files)
            raise InvalidInput.because(
                "no-answers",
                f"{names}: holds no answer that could be imported",
                remedy=_describe_no_answers(source),
            )
        absent = gathered.planned - len(gathered.answers)
        if absent > MOST_ABSENT:
            raise InvalidInput.because(
                "answers-missing",
                f"the source holds {len(gathered.answers):,} of {gathered.planned:,} answers of "
                "its cases x models x repetitions: it is no one run",
                remedy="import its parts one by one",
            )
    except BaseException:
        gathered.close()
        raise
    return gathered


def _read_answers(source: ForeignRun, gathered: GatheredRun) -> None:
    seen: dict[UUID, dict[str, int]] = {}
    """The number of answers so far, by prompt and model."""
    models: set[str] = set()
    for answer in map(partial(_shorten_names, source.remainder), source.answers):
        digest = answer.case.digest()
        prompt = prompt_id(digest)
        counts = seen.get(prompt)
        if counts is None:
            counts = seen[prompt] = {}
            gathered.cases.add(answer.case)
        if answer.model not in models:
            models.add(answer.model)
            gathered.models.append(answer.model)
        repetition = counts[answer.model] = counts.get(answer.model, 0) + 1
        gathered.repetitions = max(gathered.repetitions, repetition)
        gathered.answers.add((prompt, answer.model, repetition), _answer_fields(answer))


def _shorten_names(remainder: Remainder, answer: RecordedAnswer) -> RecordedAnswer:
    """The answer with the names of its case and model cut to `LONGEST_NAME` characters.

    Every cut is noted in `remainder`.
    """
    case = answer.case
    names = {
        field: _shorten_name(name, remainder, answer.place)
        for field in ("case_id", "suite_id", "category")
        if (name := getattr(case, field)) is not None and len(name) > LONGEST_NAME
    }
    if names:
        answer = replace(answer, case=case.model_copy(update=names))
    if len(answer.model) > LONGEST_NAME:
        model = _shorten_name(answer.model, remainder, answer.place)
        answer = replace(answer, model=model)
    return answer


def _shorten_name(name: str, remainder: Remainder, where: str) -> str:
    reason = f"it is cut after {LONGEST_NAME} characters, and ends with its digest"
    remainder.add("a name that is too long", reason, where)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[:LONGEST_NAME]}... {digest}"


def _answer_fields(answer: RecordedAnswer) -> dict[str, Any]:
    return {
        "source_place": answer.place,
        "sample_sha256": answer.sample_sha256,
        "replies": [reply.model_dump(mode="json") for reply in answer.replies],
        "messages": list(answer.messages),
        "model": answer.answered_by,
        "usage": answer.usage.model_dump(mode="json"),
        "latency_ms": answer.latency_ms,
        "asked_at": answer.asked_at,
        "source_scores": dict(answer.source_scores),
        "source_metadata": dict(answer.source_metadata),
        "source_passed": answer.source_passed,
        "source_cost_usd": answer.source_cost_usd,
        "error": None if answer.error is None else answer.error.model_dump(mode="json"),
    }


def _describe_no_answers(source: ForeignRun) -> str:
    unmapped = source.remainder.all()
    if not unmapped:
        return "give a file of a run that has answered something"
    return "; ".join(f"{part.first}: {part.what}: {part.why}" for part in unmapped[:5])
