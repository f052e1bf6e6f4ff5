"""The red-team dialect: implements `protocol.Dialect` (specification 002)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Classification,
    Evaluation,
    Failure,
    Judgement,
    ModelReply,
    Score,
    Transcript,
)
from failproof_es.dialects.kit.judging import checklist
from failproof_es.dialects.protocol import FixedOutcome, JudgeReading, RunShape, TakesADialect
from failproof_es.dialects.shipped.redteam import grading, options
from failproof_es.dialects.shipped.redteam.checks import tool_calls
from failproof_es.dialects.shipped.redteam.classifier import classify
from failproof_es.dialects.shipped.redteam.conversation import next_messages
from failproof_es.dialects.shipped.redteam.files.case_files import SUFFIXES, looks_like_ours
from failproof_es.dialects.shipped.redteam.files.loader import as_case, load
from failproof_es.dialects.shipped.redteam.files.red_team_case import RedTeamCase
from failproof_es.dialects.shipped.redteam.result import result
from failproof_es.dialects.shipped.redteam.summary import SUMMARY
from failproof_es.problems import Problems


class RedTeam:
    """Multi-turn cases, graded by deterministic checks and by judges with a checklist."""

    name = "redteam"
    extra = "redteam"
    suffixes: tuple[str, ...] = SUFFIXES
    run_shapes: Mapping[str, RunShape] = {"summary": SUMMARY}
    default_for: frozenset[TakesADialect] = frozenset({"suites new", "a file that is damaged"})
    joins_messages: Literal[True] = True
    judged_by_people: Literal[True] = True
    """People can decide a checklist as judge models can."""

    def __init__(self, settings: options.RedTeamOptions | None = None) -> None:
        self._options = settings or options.RedTeamOptions()

    def with_options(self, option_values: Mapping[str, Any]) -> Self:
        """See `options.read_options`."""
        return type(self)(options.read_options(option_values))

    def recognises(self, path: Path) -> bool:
        """See `case_files.looks_like_ours`."""
        return looks_like_ours(path)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """See `loader.load`."""
        return load(files, self._options, problems)

    def rebuild_case(self, case: Case) -> Case:
        """See `loader.as_case`."""
        read = RedTeamCase.model_validate(case.document)
        return as_case(read, case.document, case.suite_id, case.source, self._options)

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """See `conversation.next_messages`."""
        return next_messages(case.turns, transcript.replies)

    def tools(self, case: Case) -> tuple[str, ...]:
        """The tools that the case expects to be called, if they can be offered."""
        return tool_calls.offered(case.expectation.get("tools_expected", ()))

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """See `classifier.classify`."""
        return classify(case, transcript)

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """See `grading.judge_messages`."""
        return grading.judge_messages(case, transcript)

    def judge_schema(self, case: Case, transcript: Transcript) -> dict[str, Any]:
        """See `grading.judge_schema`."""
        return grading.judge_schema(case, transcript)

    def read_judgement(self, case: Case, transcript: Transcript, reply: ModelReply) -> JudgeReading:
        """See `grading.read_judgement`."""
        return grading.read_judgement(case, transcript, reply)

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        """See `grading.score`."""
        return grading.score(case, classification, judgement)

    def fixed_outcome(self, case: Case) -> FixedOutcome | None:
        """`no_verdict` if the case has no item that a judge could be asked about."""
        return None if checklist(case.expectation) else "no_verdict"

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """See `result.result`."""
        return result(case, evaluation)
