"""`DataSetLoaderApi`: benchmark tasks from YAML files (specification 003 § 4.3)."""

from __future__ import annotations

from pathlib import Path

from failproof_es.abstraction.implementation.dispatcher import logger
from failproof_es.abstraction.types import BenchmarkTask, ExpectedAnswer
from failproof_es.core.case import Case
from failproof_es.dialects import case_files
from failproof_es.dialects.shipped.benchmark import Benchmark
from failproof_es.dialects.shipped.benchmark.options import BenchmarkOptions
from failproof_es.engine.planning.planner import skipped_lines
from failproof_es.problems import InvalidInput, Problem, Problems


class DataSetLoader:
    """A `DataSetLoaderApi` for YAML files: the tasks of a folder, in sorted order, or of one
    file."""

    def __init__(
        self,
        *,
        skip_invalid: bool = False,
        folder: Path | None = None,
        options: BenchmarkOptions | None = None,
    ) -> None:
        self._skip_invalid = skip_invalid
        self._folder = folder
        self._dialect = Benchmark(options)

    def load_tasks(self, folder_path: str) -> list[BenchmarkTask]:
        """Every task of a folder and its sub-folders, or of one file. Relative paths start from
        `folder`, by default the working directory. A task's question includes its input.

        Raises `InvalidInput` with every defect of every file. With `skip_invalid` defective
        tasks are left out and logged; then it raises only if no task is left.
        """
        problems = Problems()
        files = case_files(folder_path, self._dialect.suffixes, self._folder)
        tasks = [task_of(case) for case in self._dialect.load(files, problems)]
        if not tasks or not self._skip_invalid:
            problems.raise_errors()
        if not tasks:
            raise InvalidInput(
                [Problem("no-cases", f"{folder_path} holds no task", remedy="add one")]
            )
        for line in skipped_lines(problems.errors):
            logger.warning("%s", line)
        return tasks


def task_of(case: Case) -> BenchmarkTask:
    """The task of a case of the benchmark dialect."""
    expectation = case.expectation
    names = ("most_expected", "good_answer", "pass_option")
    return BenchmarkTask(
        task_id=case.case_id,
        question=expectation["question"],
        expected_answer=ExpectedAnswer(**{name: expectation[name] for name in names}),
        incorrect_direction=expectation["incorrect_direction"],
    )
