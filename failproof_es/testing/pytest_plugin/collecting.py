"""Collects the evaluations of configurations as tests, and reports each from the record.

The first executed test of a run drives the run. Without an executed test no request is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from failproof_es.core.case import Case
from failproof_es.core.run import in_plan_order
from failproof_es.dialects.expectations import unmet_beside_answer
from failproof_es.exports.exporter import require_possible
from failproof_es.library.evaluating import load, planned_cases
from failproof_es.library.opened_run import GatesNotMet, OpenedRun
from failproof_es.models import model_keys
from failproof_es.problems import InvalidInput
from failproof_es.reading.recorded_run import PlannedOutcome
from failproof_es.support.untrusted_text import lines, one_line, shortened
from failproof_es.testing.pytest_plugin.fixture import drive_once
from failproof_es.testing.pytest_plugin.shared_runs import CouldNotRun, SharedRuns, shared_runs

LONGEST_TEXT = 4_000
"""The most characters of one text in a failure, which states the number of omitted ones."""
_LONGEST_NAME = 100
_PAGE = 200


class NotPassed(Exception):
    """An evaluation that did not pass, or ended without a score."""


class Collecting:
    """Adds the evaluations to the tests that pytest collects."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._runs: list[ReportedRun] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Read all configurations and suites that the options name.

        Raises `UsageError`, with all problems, if one cannot be used.
        """
        runs, problems = shared_runs(self._config), []
        for kind, option in (
            (_report_of_file, "--failproof"),
            (_report_of_run, "--failproof-resume"),
        ):
            for name in self._config.getoption(option):
                try:
                    self._runs.append(kind(str(name), runs))
                except InvalidInput as error:
                    problems += [one_line(problem) for problem in error.problems]
        if problems:
            raise pytest.UsageError("failproof-es: " + "\n".join(problems))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the evaluations after the tests, and let pytest count them as collected."""
        for run in self._runs:
            collector = Evaluations.from_parent(session, run=run)
            collected = list(collector.collect())
            session.ihook.pytest_collectreport(
                report=pytest.CollectReport(collector.nodeid, "passed", None, [*collected])
            )
            items.extend(collected)


class ReportedRun:
    """A configuration or a recorded run to report, with the names of its evaluations.

    `open_run` executes the run unless that was done, and opens it.
    """

    def __init__(self, name: str, names: list[str], open_run: Callable[[], OpenedRun]) -> None:
        self.name = shortened(one_line(name), _LONGEST_NAME)
        self.names = names
        self.open_run = open_run
        self._page: tuple[int, list[PlannedOutcome]] = (-1, [])

    def planned(self, place: int) -> PlannedOutcome:
        """The evaluation at this place of the plan, from 1.

        Executes the run if that was not done. Raises `ImpossibleHistory` if the evaluation's record
        contradicts itself.
        """
        page, within = divmod(place - 1, _PAGE)
        if self._page[0] != page:
            outcomes = self.open_run().recorded.outcomes(after=page * _PAGE, limit=_PAGE)
            self._page = (page, list(outcomes))
        planned = self._page[1][within]
        require_possible(planned.outcome)
        return planned


def _report_of_file(name: str, runs: SharedRuns) -> ReportedRun:
    loaded = load(name)
    cases = planned_cases(loaded, runs.database_url)
    execution = loaded.configuration.execution
    models = model_keys(loaded.configuration.models)
    key = f"{loaded.path.absolute()}\n{loaded.digest()}"
    drive = partial(drive_once, loaded, runs)
    names = list(_evaluation_names(cases, models, execution.repetitions))
    return ReportedRun(name, names, partial(runs.opened, name, key, drive))


def _report_of_run(name: str, runs: SharedRuns) -> ReportedRun:
    with OpenedRun.open(name, database_url=runs.database_url) as opened:
        names = [
            _evaluation_name(r.suite_id, r.case_id, r.model_key, r.repetition)
            for r in opened.results()
        ]
        number = str(opened.number)
    return ReportedRun(f"run {number}", names, partial(runs.opened, number, f"run {number}"))


def _evaluation_names(cases: list[Case], models: list[str], repetitions: int) -> Iterator[str]:
    """Yield the names of all evaluations in the order of the plan."""
    for case, model, repetition in in_plan_order(cases, models, range(1, repetitions + 1)):
        yield _evaluation_name(case.suite_id, case.case_id, model, repetition)


def _evaluation_name(suite: str, case: str, model: str, repetition: int) -> str:
    """The name of the test of an evaluation: `SUITE/CASE#REPETITION[MODEL]`.

    It must end with the bracket: pytest splits worker reports behind one.
    """
    parts = (shortened(one_line(text), _LONGEST_NAME) for text in (suite, case, model))
    told_suite, told_case, told_model = parts
    nth = "" if repetition == 1 else f"#{repetition}"
    return f"{told_suite}/{told_case}{nth}[{told_model}]"


class Evaluations(pytest.Collector):
    """Collects the tests of one run."""

    def __init__(self, *, run: ReportedRun, **settings: Any) -> None:
        super().__init__(name=run.name, nodeid=run.name, **settings)
        self.run = run

    @classmethod
    def from_parent(cls, parent: Any, **settings: Any) -> Evaluations:
        """See `pytest.Collector.from_parent`."""
        made = super().from_parent(parent, **settings)
        assert isinstance(made, Evaluations)
        return made

    def collect(self) -> Iterator[pytest.Item]:
        """A test for the run, then one for each evaluation of its plan."""
        yield RunItem.from_parent(self, name="run")
        for place, name in enumerate(self.run.names, start=1):
            yield EvaluationItem.from_parent(self, name=name, place=place)


class _Item(pytest.Item):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.add_marker("failproof")

    @property
    def run(self) -> ReportedRun:
        """The run of this test."""
        assert isinstance(self.parent, Evaluations)
        return self.parent.run

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """The place of the test, by which pytest groups its report."""
        return self.run.name, None, self.name

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The failure without the frames of this plugin."""
        if isinstance(excinfo.value, NotPassed | GatesNotMet | CouldNotRun | InvalidInput):
            return lines(excinfo.value)
        return super().repr_failure(excinfo, style)


class RunItem(_Item):
    """The test of a whole run: it is complete, its record is intact, its gates are met."""

    def runtest(self) -> None:
        """Execute the run if no other test has, and assert its gates."""
        self.run.open_run().assert_gates()


class EvaluationItem(_Item):
    """The test of one evaluation of a case by a model."""

    def __init__(self, *, place: int, **settings: Any) -> None:
        super().__init__(**settings)
        self._place = place

    def runtest(self) -> None:
        """Pass, skip or fail by the evaluation's result. Executes the run if no other test has.

        Raises `NotPassed` if the evaluation did not pass.
        """
        planned = self.run.planned(self._place)
        outcome, by_people = planned.outcome, planned.by_people
        self.user_properties.append(("failproof_evaluation", str(outcome.evaluation_id)))
        if by_people == "passed_by_people":
            return
        if by_people is not None and by_people != "failed_by_people":
            pytest.skip("awaits review by people" if planned.people == "awaiting" else by_people)
        if not outcome.finished:
            pytest.skip("not finished")
        if outcome.scored and outcome.passed is None:
            pytest.skip("scored, and neither passed nor failed")
        if not outcome.passed:
            raise NotPassed(describe(planned, self.run.open_run().number))


def describe(planned: PlannedOutcome, run: int) -> str:
    """The report of an evaluation that did not pass: verdict, question, answer, next commands.

    One that was scored shows what was expected beside what came. `run` is the number of its run.
    """
    case, outcome = planned.case, planned.outcome
    verdict = "no score" if outcome.unscored else "not passed"
    classified = "" if outcome.class_ is None else f", {outcome.class_}"
    pairs = [] if outcome.unscored else unmet_beside_answer(case, outcome)
    report = [
        f"{verdict}{classified}: {outcome.reason}",
        *(f"question: {_shorten(question)}" for question in case.questions),
        f"answer: {'(none)' if outcome.answer is None else _shorten(outcome.answer)}",
        *(f"{label}: {_shorten(text)}" for label, text in pairs if text != outcome.answer),
    ]
    if outcome.error_message is not None and outcome.error_message != outcome.reason:
        report.append(f"error: {_shorten(outcome.error_message)}")
    report.append(f"look further: failproof-es log --stream {outcome.evaluation_id}")
    report.append(f"all of the run: failproof-es show {run}")
    return "\n".join(report)


def _shorten(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}\n({len(text) - LONGEST_TEXT:,} more characters are on record)"
