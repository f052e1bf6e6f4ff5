"""The dialect `checks`: implements `protocol.Dialect`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from failproof_es.core.case import Case
from failproof_es.dialects.kit import one_request
from failproof_es.dialects.kit.looking import first_lines_contain
from failproof_es.dialects.shipped.checks import grading, loader, result
from failproof_es.problems import Problems


class Checks:
    """The dialect `checks`: cases with one reply, graded by fixed checks, without a judge."""

    name = loader.NAME
    suffixes: tuple[str, ...] = (".jsonl",)
    expected_in_results: Literal[True] = True
    judged_by_people: Literal[True] = True

    messages = staticmethod(one_request.messages)
    classify = staticmethod(grading.classify)
    grading_is_bounded = staticmethod(grading.is_bounded)
    judge_messages = staticmethod(one_request.judge_messages)
    score = staticmethod(grading.score)
    fixed_outcome = staticmethod(grading.fixed_outcome)
    expectations = staticmethod(grading.expectations)
    result = staticmethod(result.result)
    load_by_file = staticmethod(loader.load)

    def recognises(self, path: Path) -> bool:
        """Whether one of the file's first lines has the key `checks`."""
        return first_lines_contain(path, (b'"checks"',), self.suffixes)

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid case in file order; every defect goes to `problems`."""
        return (case for _, case in loader.load(files, problems))
