"""The importer of case files of this project's dialects, which are copied unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from failproof_es.dialects.protocol import Dialect
from failproof_es.dialects.registry import recognise
from failproof_es.importers.protocol import Findings, ImportedCase, Options, Place
from failproof_es.importers.source import Source
from failproof_es.problems import InvalidInput, Problem, Problems

_IN_LIST = re.compile(r"\[\d+\]")


class SuiteImporter:
    """The importer `suite`, of case files of this program's dialects.

    The dialect checks the files, and they are copied unchanged.
    """

    name = "suite"
    says = "Case files of the five specifications, as they are: read by their dialect, and copied."
    takes: frozenset[str] = frozenset()

    def cases(self, source: Source, options: Options, findings: Findings) -> Iterator[ImportedCase]:
        """Always raises `InvalidInput`: case files are copied, not mapped; `files` names them."""
        raise InvalidInput.because("unsupported-feature", "case files are copied, not mapped")

    def files(self, source: Source, findings: Findings) -> tuple[Dialect, list[Path], int]:
        """The dialect, its files and the number of their valid cases.

        A defective case stays in its file and is noted in `findings`. Raises `InvalidInput` if no
        case is valid, or a file cannot be read or is a link out of the folder.
        """
        dialect, files = recognise(str(source.path))
        problems = Problems()
        for file in files:
            if source.path.is_dir() and not file.resolve().is_relative_to(source.folder):
                problems.error("link-not-followed", "is a link out of the folder", path=file)
            else:
                source.check(file)
        problems.raise_errors()
        count = sum(1 for _ in dialect.load(list(files), problems))
        if not count:
            problems.raise_errors()
        for problem in problems.errors:
            display_path = (
                source.display_path(problem.path) if problem.path is not None else str(source.path)
            )
            findings.note(
                Place(display_path, problem.line, problem.field), f"defective: {problem.message}"
            )
        findings.read = count + len(set(map(_case_key, problems.errors)))
        return dialect, list(files), count


def _case_key(problem: Problem) -> tuple[Path | None, str | int | None]:
    """The identity of a defect's case: its file, and its number in a list or else its line."""
    match = _IN_LIST.match(problem.field or "")
    return problem.path, match[0] if match else problem.line


SUITE = SuiteImporter()
