"""The red-team dialect: implements `protocol.Dialect` (specification 002)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal, Self

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Transcript
from failproof_es.dialects.kit.judging import checklist, rubric
from failproof_es.dialects.protocol import FixedOutcome, RunShape, TakesADialect
from failproof_es.dialects.shipped.redteam import (
    classifier,
    expectations,
    grading,
    options,
    result,
)
from failproof_es.dialects.shipped.redteam.checks import tool_calls
from failproof_es.dialects.shipped.redteam.conversation import next_messages
from failproof_es.dialects.shipped.redteam.files.case_files import SUFFIXES, looks_like_ours
from failproof_es.dialects.shipped.redteam.files.loader import as_case, load
from failproof_es.dialects.shipped.redteam.files.red_team_case import RedTeamCase
from failproof_es.dialects.shipped.redteam.summary import SUMMARY
from failproof_es.problems import Problems


class RedTeam:
    """The dialect `redteam`: multi-turn cases, graded by fixed checks and by judges.

    The judges give a verdict on each item of the case's checklist.
    """

    name = "redteam"
    extra = "redteam"
    suffixes: tuple[str, ...] = SUFFIXES
    run_shapes: Mapping[str, RunShape] = {"summary": SUMMARY}
    default_for: frozenset[TakesADialect] = frozenset({"suites new", "a file that is damaged"})
    joins_messages: Literal[True] = True
    judged_by_people: Literal[True] = True
    """People can decide a checklist as judge models can."""

    recognises = staticmethod(looks_like_ours)
    classify = staticmethod(classifier.classify)
    judge_messages = staticmethod(grading.judge_messages)
    judge_schema = staticmethod(grading.judge_schema)
    read_judgement = staticmethod(grading.read_judgement)
    score = staticmethod(grading.score)
    expectations = staticmethod(expectations.expectations)
    result = staticmethod(result.result)

    def __init__(self, settings: options.RedTeamOptions | None = None) -> None:
        self._options = settings or options.RedTeamOptions()

    def with_options(self, option_values: Mapping[str, Any]) -> Self:
        """The dialect with these `prompts.options`. Raises `InvalidInput` with every defect."""
        return type(self)(options.read_options(option_values))

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid case in file order; every defect goes to `problems`."""
        return load(files, self._options, problems)

    def rebuild_case(self, case: Case) -> Case:
        """The case under this dialect's options, built again from its stored document."""
        read = RedTeamCase.model_validate(case.document)
        return as_case(read, case.document, case.suite_id, case.source, self._options)

    def reordered_rubric(self, case: Case, draw: Random) -> Case | None:
        """The case with the items of its lists in another order; `None` if no list has two."""
        return _with_expectation(case, rubric.reorder(case.expectation, draw))

    def rephrased_rubric(self, case: Case) -> Case | None:
        """The case with the shipped question in other words; `None` with another template."""
        return _with_expectation(case, rubric.rephrase(case.expectation))

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """The conversation up to the turn to answer next; `None` if none is left."""
        return next_messages(case.turns, transcript.replies)

    def tools(self, case: Case) -> tuple[str, ...]:
        """The names of the tools that the case expects to be called, if they can be offered.

        Empty if it expects none.
        """
        return tool_calls.offered(case.expectation.get("tools_expected", ()))

    def fixed_outcome(self, case: Case) -> FixedOutcome | None:
        """`no_verdict` if the case has no item that a judge could be asked about.

        `None` for any other case.
        """
        return None if checklist(case.expectation) else "no_verdict"


def _with_expectation(case: Case, expectation: dict[str, Any] | None) -> Case | None:
    return None if expectation is None else case.model_copy(update={"expectation": expectation})
