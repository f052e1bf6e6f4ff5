"""The PromptGuard dialect: implements `protocol.Dialect` (specification 001)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import (
    Classification,
    Evaluation,
    Failure,
    Judgement,
    Score,
    Transcript,
)
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.dialects.kit.looking import first_lines_contain
from failproof_es.dialects.protocol import (
    CollectionExport,
    Expectation,
    FixedOutcome,
    RunShape,
    TakesADialect,
)
from failproof_es.dialects.shipped.promptguard import options
from failproof_es.dialects.shipped.promptguard.classifier import classify, expectations, score
from failproof_es.dialects.shipped.promptguard.collections import COLLECTIONS
from failproof_es.dialects.shipped.promptguard.evaluation_record import evaluation_record
from failproof_es.dialects.shipped.promptguard.loader import as_case, load
from failproof_es.dialects.shipped.promptguard.metrics import AGREEMENT
from failproof_es.dialects.shipped.promptguard.stored_prompt import StoredPrompt
from failproof_es.problems import Problems


class PromptGuard:
    """The dialect `promptguard`: stored prompts that the model under test itself judges.

    It answers with T, I and F, its degrees of truth, indeterminacy and falsehood.
    """

    name = "promptguard"
    suffixes: tuple[str, ...] = (".jsonl",)
    run_shapes: Mapping[str, RunShape] = {"agreement": AGREEMENT}
    default_for: frozenset[TakesADialect] = frozenset({"prompts import"})
    exports: Mapping[str, CollectionExport] = {
        "promptguard": CollectionExport(
            "the four collections of specification 001, as JSON Lines for ArangoDB", COLLECTIONS
        )
    }

    def __init__(self, settings: options.PromptGuardOptions | None = None) -> None:
        self._options = settings or options.PromptGuardOptions()

    def with_options(self, option_values: Mapping[str, Any]) -> Self:
        """The dialect with these `prompts.options`. Raises `InvalidInput` with every defect."""
        return type(self)(options.read_options(option_values))

    def recognises(self, path: Path) -> bool:
        """Whether one of the file's first lines has the keys of a stored prompt (§ 3.1)."""
        return first_lines_contain(path, (b'"prompt_id"', b'"expected_label"'), self.suffixes)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid prompt as a case, in file order; every defect goes to `problems`."""
        return load(files, self._options, problems)

    def rebuild_case(self, case: Case) -> Case:
        """The case under this dialect's options, built again from its stored document."""
        prompt = StoredPrompt.model_validate(case.document)
        return as_case(prompt, case.document, case.suite_id, case.source, self._options)

    def messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """The one message with the question; `None` once it is answered."""
        return None if transcript.replies else case.turns

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """The label of the reply's verdict, or the class of a reply without a verdict."""
        return classify(case, transcript)

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        """Always true: no pattern comes from a case, and reading a short text is quick."""
        return True

    def judge_messages(self, case: Case, transcript: Transcript) -> tuple[Turn, ...] | None:
        """Always `None`: the model under test is the judge."""
        return None

    def score(
        self, case: Case, classification: Classification, judgement: Judgement | None
    ) -> Score | Failure:
        """`accuracy` 1 or 0, T, I and F; or the reason why there is no score."""
        return score(case, classification)

    def fixed_outcome(self, case: Case) -> FixedOutcome | None:
        """`none_passes` if no decision rule gives the expected label, else `None`."""
        labels = {rule["label"] for rule in case.expectation["decision"]}
        return None if case.expectation["expected_label"] in labels else "none_passes"

    def expectations(self, case: Case, outcome: EvaluationOutcome) -> Sequence[Expectation]:
        """The label that the case expects, beside the one that was decided."""
        return expectations(case, outcome)

    def result(self, case: Case, evaluation: Evaluation) -> dict[str, Any]:
        """The evaluation in the JSON shape of specification 001 § 3.2."""
        return evaluation_record(case, evaluation)
