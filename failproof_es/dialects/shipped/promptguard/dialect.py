"""The PromptGuard dialect: implements `protocol.Dialect` (specification 001)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, LiteralString, Self

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Transcript
from failproof_es.dialects.kit import one_request
from failproof_es.dialects.kit.looking import first_lines_contain
from failproof_es.dialects.protocol import CollectionExport, RunShape, TakesADialect
from failproof_es.dialects.shipped.promptguard import classifier, options
from failproof_es.dialects.shipped.promptguard.evaluation_record import evaluation_record
from failproof_es.dialects.shipped.promptguard.loader import as_case, load
from failproof_es.dialects.shipped.promptguard.metrics import AGREEMENT
from failproof_es.dialects.shipped.promptguard.stored_prompt import StoredPrompt
from failproof_es.problems import Problems


def _documents_of(collection: str) -> LiteralString:
    """The SELECT that returns the documents of a collection of specification 001 § 2.1."""
    return files(__package__).joinpath("sql", f"collected_{collection}.sql").read_text("utf-8")


COLLECTIONS = {
    name: _documents_of(name) for name in ("prompts", "evaluations", "test_runs", "model_configs")
}


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

    messages = staticmethod(one_request.messages)
    classify = staticmethod(classifier.classify)
    judge_messages = staticmethod(one_request.judge_messages)
    score = staticmethod(classifier.score)
    fixed_outcome = staticmethod(classifier.fixed_outcome)
    expectations = staticmethod(classifier.expectations)
    result = staticmethod(evaluation_record)

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

    def grading_is_bounded(self, case: Case, transcript: Transcript) -> bool:
        """Always true: no pattern comes from a case, and reading a short text is quick."""
        return True
