"""The FailProof dialect: implements `protocol.Dialect` (specification 000)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from failproof_es.core.case import Case
from failproof_es.dialects.kit import one_request
from failproof_es.dialects.kit.looking import first_lines_contain
from failproof_es.dialects.protocol import TakesADialect
from failproof_es.dialects.shipped.failproof import classifier, loader, run_result, scorer
from failproof_es.problems import Problems


class FailProof:
    """The dialect `failproof`: single-turn cases in JSON lines, graded by a pattern."""

    name = "failproof"
    suffixes: tuple[str, ...] = (".jsonl",)
    expected_in_results: Literal[True] = True
    default_for: frozenset[TakesADialect] = frozenset({"a file that is damaged"})

    messages = staticmethod(one_request.messages)
    classify = staticmethod(classifier.classify)
    grading_is_bounded = staticmethod(classifier.is_bounded)
    judge_messages = staticmethod(one_request.judge_messages)
    score = staticmethod(scorer.score)
    fixed_outcome = staticmethod(scorer.fixed_outcome)
    wants_refusal = staticmethod(scorer.wants_refusal)
    expectations = staticmethod(scorer.expectations)
    result = staticmethod(run_result.run_result)
    load_by_file = staticmethod(loader.load)

    def recognises(self, path: Path) -> bool:
        """Whether one of the file's first lines has a case's or a suite's key (§ 1)."""
        return first_lines_contain(path, (b'"case_id"', b'"suite_id"'), self.suffixes)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid case in file order; every defect goes to `problems`."""
        return (case for _, case in loader.load(files, problems))
