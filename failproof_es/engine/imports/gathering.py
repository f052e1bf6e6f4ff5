"""Gathers what a recorded run holds: its cases in order, its models, its answers."""

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
"""A plan of cases x models x repetitions may have so many evaluations without an answer."""


@dataclass(slots=True)
class GatheredRun:
    """A recorded run, read whole and found sound."""

    source: ForeignRun
    cases: CollectedCases = field(default_factory=CollectedCases)
    models: list[str] = field(default_factory=list)
    """Their names in the source, which are their keys here, in the order of their first answer."""
    answers: AnswerSpool = field(default_factory=AnswerSpool)
    repetitions: int = 0

    @property
    def planned(self) -> int:
        """Cases x models x repetitions."""
        return len(self.cases.planned_cases) * len(self.models) * self.repetitions

    def fields_of(self, prompt: UUID, model: str, repetition: int) -> dict[str, Any]:
        """The fields of `AnswerImported` for a planned evaluation, with an answer or without."""
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
        """Give back what is on disk."""
        self.answers.close()
        self.cases.spool.close()
        self.cases.planned_cases.close()


def gather(source: ForeignRun) -> GatheredRun:
    """Read all of it. Raises `InvalidInput` where it holds no answer, or cannot be read."""
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
                f"{names}: holds no answer that could be imported",
                remedy=_why_none(source),
            )
        absent = gathered.planned - len(gathered.answers)
        if absent > MOST_ABSENT:
            raise InvalidInput.because(
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
    """By prompt: how many answers each model has given to it so far."""
    models: set[str] = set()
    for answer in map(partial(_named_shortly, source.remainder), source.answers):
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
        gathered.answers.add((prompt, answer.model, repetition), _fields(answer))


def _named_shortly(remainder: Remainder, answer: RecordedAnswer) -> RecordedAnswer:
    """The answer with names that tables and indexes can hold; that one is cut is said."""
    case = answer.case
    names = {
        field: _short(name, remainder, answer.place)
        for field in ("case_id", "suite_id", "category")
        if (name := getattr(case, field)) is not None and len(name) > LONGEST_NAME
    }
    if names:
        answer = replace(answer, case=case.model_copy(update=names))
    if len(answer.model) > LONGEST_NAME:
        model = _short(answer.model, remainder, answer.place)
        answer = replace(answer, model=model)
    return answer


def _short(name: str, remainder: Remainder, where: str) -> str:
    reason = f"it is cut after {LONGEST_NAME} characters, and ends with its digest"
    remainder.add("a name that is too long", reason, where)
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return f"{name[:LONGEST_NAME]}... {digest}"


def _fields(answer: RecordedAnswer) -> dict[str, Any]:
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


def _why_none(source: ForeignRun) -> str:
    unmapped = source.remainder.all()
    if not unmapped:
        return "give a file of a run that has answered something"
    return "; ".join(f"{part.first}: {part.what}: {part.why}" for part in unmapped[:5])
