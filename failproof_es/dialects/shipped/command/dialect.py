"""The command dialect: implements `protocol.Dialect` (specification 004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Classification, Transcript
from failproof_es.dialects.kit import one_request
from failproof_es.dialects.protocol import RunShape
from failproof_es.dialects.shipped.command import scorer
from failproof_es.dialects.shipped.command.classifier import classify
from failproof_es.dialects.shipped.command.console import console_lines
from failproof_es.dialects.shipped.command.dataset.command_check import check_commands
from failproof_es.dialects.shipped.command.dataset.dataset_file import looks_like_a_dataset
from failproof_es.dialects.shipped.command.dataset.loader import NAME, as_case, load
from failproof_es.dialects.shipped.command.models import TestCase
from failproof_es.dialects.shipped.command.options import CommandOptions, parse_options
from failproof_es.dialects.shipped.command.results import case_result, evaluation_results
from failproof_es.problems import InvalidInput, Problems
from failproof_es.shell_analysis import ProgramMissing
from failproof_es.support.extras import require


@contextmanager
def _parsers() -> Iterator[None]:
    """Raise `InvalidInput` if the code of the `with` block lacks a shell parser."""
    try:
        yield
    except ProgramMissing as error:
        raise InvalidInput.because(
            "program-not-installed", error.missing, remedy=error.remedy
        ) from error


class Command:
    """The dialect `command`: prompts for a shell command, judged by parsers; no command is run."""

    name = NAME
    extra = "commands"
    suffixes: tuple[str, ...] = (".toml", ".jsonl")
    """The suffixes that a folder is searched for. A YAML file, which may be a configuration,
    must be named."""
    run_shapes: Mapping[str, RunShape] = {
        "evaluation-result": RunShape(evaluation_results, console_lines)
    }

    waits_for_programs: Literal[True] = True

    recognises = staticmethod(looks_like_a_dataset)
    messages = staticmethod(one_request.messages)
    judge_messages = staticmethod(one_request.judge_messages)
    score = staticmethod(scorer.score)
    expectations = staticmethod(scorer.expectations)
    result = staticmethod(case_result)

    def __init__(self, options: CommandOptions | None = None) -> None:
        self._options = options or CommandOptions()

    def with_options(self, options: Mapping[str, Any]) -> Command:
        """The dialect with these `prompts.options`. Raises `InvalidInput` with every defect."""
        return Command(parse_options(options))

    def load(self, files: Sequence[Path], problems: Problems) -> Iterator[Case]:
        """Yield every valid case in file order; every defect goes to `problems`.

        Raises `InvalidInput` if the shell parsers are not installed.
        """
        require(self.extra, "the dialect `command`")
        with _parsers():
            yield from load(files, problems, self._options, check_commands)

    def rebuild_case(self, case: Case) -> Case:
        """The case under this dialect's options, built again from its stored document."""
        test_case = TestCase.model_validate(case.document)
        return as_case(test_case, case.document, case.suite_id, case.source, self._options)

    def classify(self, case: Case, transcript: Transcript) -> Classification:
        """`pass` or `fail` by the checker of the case's category, or another class.

        Raises `InvalidInput` if the shell parsers are not installed.
        """
        with _parsers():
            return classify(case, transcript)
