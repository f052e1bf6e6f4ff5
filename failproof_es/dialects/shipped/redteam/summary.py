"""The summary document of a model: pass rates, every failure, and judge agreement.

`summary.schema.json` describes it. Counts and ratios of counts; a ratio with the denominator 0 is
null, never 0. Intervals are in the report. `by_people` has people's decisions on the evaluations
that were left to them: a caller that can read reviews fills it in; null if none was left.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.core.case import FAMILY, Case
from failproof_es.core.evaluation import Evaluation, Judgement
from failproof_es.core.people import describe_people
from failproof_es.core.tally import BoundedRate
from failproof_es.dialects.kit.judging import checklist, decide, judge_agreement
from failproof_es.dialects.kit.judging.checklist import ABSENCE, WORDS
from failproof_es.dialects.protocol import RunShape
from failproof_es.dialects.shipped.redteam.result import (
    Outcome,
    outcome_of,
    passed_item,
    quotations,
)
from failproof_es.events import RunStarted
from failproof_es.support.percentages import percent_range, ratio
from failproof_es.support.plurals import plural

_SCORED_OUTCOMES = ("passed", "failed")


@dataclass(slots=True)
class PassTally:
    """Counts of scored evaluations, and of those that passed; also used for cases and pairs."""

    scored: int = 0
    passed: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count an evaluation with this outcome if it was scored."""
        self.scored += outcome in _SCORED_OUTCOMES
        self.passed += outcome == "passed"

    def as_json(self) -> dict[str, Any]:
        """Both counts and their ratio `rate`, which is `None` if nothing was scored."""
        rate = ratio(self.passed, self.scored)
        return {"scored": self.scored, "passed": self.passed, "rate": rate}


@dataclass(slots=True)
class Summary:
    """The figures of one model's evaluations in a run.

    `repetitions` is how often the run asks each case. `by` has a tally for each category, tag and
    severity; `cases` the outcomes by (suite id, case id); `judge_problems` and `void_verdicts` the
    replies and the verdicts of each judge that do not count.
    """

    repetitions: int
    total: PassTally = field(default_factory=PassTally)
    unscored: Counter[str] = field(default_factory=Counter)
    by: Mapping[str, defaultdict[str, PassTally]] = field(
        default_factory=lambda: {
            name: defaultdict(PassTally) for name in ("category", "tag", "severity")
        }
    )
    cases: defaultdict[tuple[str, str], list[Outcome]] = field(
        default_factory=lambda: defaultdict(list)
    )
    paraphrases: defaultdict[str, list[tuple[str, Outcome]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """For each group of paraphrases, (case id, outcome) of every evaluation."""
    failures: list[dict[str, Any]] = field(default_factory=list)
    judge_problems: Counter[str] = field(default_factory=Counter)
    void_verdicts: Counter[str] = field(default_factory=Counter)
    judge_pairs: PassTally = field(default_factory=PassTally)

    def add(self, case: Case, evaluation: Evaluation) -> None:
        """Count one evaluation that has begun, with its outcome and its judges' verdicts."""
        outcome = outcome_of(evaluation)
        if outcome in ("unscored", "awaiting_review") and evaluation.abandoned is not None:
            self.unscored[evaluation.abandoned.kind] += 1
        elif outcome == "unfinished":
            self.unscored["not finished"] += 1
        groups = [tag for tag in case.tags if tag.startswith(FAMILY)]
        for tally in (
            self.total,
            self.by["category"][case.category or ""],
            self.by["severity"][case.severity or ""],
            *(self.by["tag"][tag] for tag in dict.fromkeys(case.tags)),
        ):
            tally.add(outcome)
        for group in groups:
            self.paraphrases[group.removeprefix(FAMILY)].append((case.case_id, outcome))
        self.cases[case.suite_id, case.case_id].append(outcome)
        if outcome == "failed":
            self.failures.append(_failure(case, evaluation))
        self._add_judges(case, evaluation)

    def as_json(self, planned: int) -> dict[str, Any]:
        """The summary document without the model's name.

        `planned` is the model's number of planned evaluations; those that have not begun are
        counted as unscored. Call it after the last `add`.
        """
        begun_count = self.total.scored + self.unscored.total()
        if planned > begun_count:
            self.unscored["not begun"] += planned - begun_count
        return {
            "evaluations": planned,
            **self.total.as_json(),
            "unscored": dict(sorted(self.unscored.items())),
            "rate_bounds": self._bounds(),
            **{
                f"by_{name}": {key: tally.as_json() for key, tally in sorted(tallies.items())}
                for name, tallies in self.by.items()
            },
            "repetitions": self._repetitions(),
            "paraphrases": self._paraphrases(),
            "judges": {
                "pairs": self.judge_pairs.scored,
                "agreeing": self.judge_pairs.passed,
                "agreement": self.judge_pairs.as_json()["rate"],
                "problems": dict(sorted(self.judge_problems.items())),
                "void": {judge: n for judge, n in sorted(self.void_verdicts.items()) if n},
            },
            "failures": sorted(
                self.failures,
                key=lambda failure: (failure["severity_expectation"], failure["case_id"]),
            ),
            "by_people": None,
        }

    def _bounds(self) -> list[float] | None:
        """The lowest and the highest pass rate that the unscored evaluations leave possible.

        The rates if all of them failed, or all passed; `None` if all are scored.
        """
        passed, scored = Fraction(self.total.passed), self.total.scored
        bounds = BoundedRate(passed, scored, self.unscored.total()).bounds
        return None if bounds is None else list(bounds)

    def _add_judges(self, case: Case, evaluation: Evaluation) -> None:
        for verdict in evaluation.verdicts:
            if verdict.verdict is None:
                self.judge_problems[verdict.judge] += 1
            item_verdicts = verdict.verdict["items"] if verdict.verdict else []
            self.void_verdicts[verdict.judge] += sum(
                entry["void"] is not None for entry in item_verdicts
            )
        votes = decide(checklist(case.expectation), Judgement("majority", evaluation.verdicts))
        agreeing, pairs = judge_agreement(votes)
        self.judge_pairs.scored += pairs
        self.judge_pairs.passed += agreeing

    def _repetitions(self) -> dict[str, Any]:
        """Counts of cases that passed in any, and in all, of their k repetitions.

        The keys are `k`, `pass_at_k` and `all_of_k`. Only cases whose repetitions are all scored
        count: otherwise a case that passed at least once would be counted more often than a case
        that never did.
        """
        any_of, all_of = PassTally(), PassTally()
        for outcomes in self.cases.values():
            if sum(outcome in _SCORED_OUTCOMES for outcome in outcomes) != self.repetitions:
                continue
            passed = outcomes.count("passed")
            any_of.add("passed" if passed else "failed")
            all_of.add("passed" if passed == self.repetitions else "failed")
        return {
            "k": self.repetitions,
            "pass_at_k": _of_cases(any_of),
            "all_of_k": _of_cases(all_of),
        }

    def _paraphrases(self) -> dict[str, Any]:
        """The number of paraphrase groups of two cases or more, and of those with one outcome only.

        `inconsistent` names the other groups. Only groups whose evaluations are all scored count: a
        missing outcome could differ.
        """
        scored = {
            group: outcomes
            for group, outcomes in self.paraphrases.items()
            if all(outcome in _SCORED_OUTCOMES for _, outcome in outcomes)
        }
        outcomes_by_group = {
            group: {outcome for _, outcome in outcomes}
            for group, outcomes in scored.items()
            if len({case for case, _ in outcomes}) > 1
        }
        differing = sorted(
            group for group, outcomes in outcomes_by_group.items() if len(outcomes) > 1
        )
        groups = len(outcomes_by_group)
        return {
            "groups": groups,
            "consistent": groups - len(differing),
            "rate": (groups - len(differing)) / groups if groups else None,
            "inconsistent": differing,
        }


def summaries(
    started: RunStarted, evaluations: Iterable[tuple[Case, Evaluation]]
) -> Iterator[dict[str, Any]]:
    """The summary document of each model of the run, in configuration order."""
    repetitions = repetitions_of(started)
    by_model = {model.key: Summary(repetitions) for model in started.models}
    for case, evaluation in evaluations:
        if evaluation.model_key is not None:
            by_model[evaluation.model_key].add(case, evaluation)
    planned = started.planned_evaluations // len(by_model)
    for key, summary in by_model.items():
        yield {"model": key, **summary.as_json(planned)}


def summary_lines(document: dict[str, Any]) -> Iterator[str]:
    """One model's summary for people: counts first, then where, then every failure.

    `document` is one of `summaries`.
    """
    yield f"{document['model']}: {_k_of_n(document)} passed"
    for why, count in document["unscored"].items():
        yield f"  not scored: {count} {why}"
    if (bounds := document["rate_bounds"]) is not None:
        yield f"  if everything unscored had failed or passed: {percent_range(bounds)}"
    for name in ("severity", "category", "tag"):
        yield f"  by {name}:"
        for key, tally in document[f"by_{name}"].items():
            yield f"    {key}: {_k_of_n(tally)}"
    repetitions, paraphrases = document["repetitions"], document["paraphrases"]
    if repetitions["k"] > 1:
        yield f"  any of {repetitions['k']} passes: {_k_of_n(repetitions['pass_at_k'])} cases"
        yield f"  all of {repetitions['k']} pass: {_k_of_n(repetitions['all_of_k'])} cases"
    if paraphrases["groups"]:
        count = f"{paraphrases['consistent']} of {paraphrases['groups']}"
        yield f"  the same, however it is asked: {count} groups"
    if document["judges"]["pairs"]:
        count = f"{document['judges']['agreeing']} of {document['judges']['pairs']}"
        yield f"  two judges say the same: {count} verdicts"
    for judge, problems in document["judges"]["problems"].items():
        yield f"  {judge} said nothing of {plural(problems, 'evaluation')}"
    for judge, void in document["judges"]["void"].items():
        yield f"  {judge}: void verdicts on items: {void} (`review disagreements` lists them)"
    if document["by_people"] is not None:
        yield from _people_lines(document["by_people"])
    for failure in document["failures"]:
        where = f"{failure['case_id']} (repetition {failure['repetition']})"
        why = failure["title"] if failure["items"] else failure["reason"]
        yield f"  {failure['severity_expectation']} {where}: {why}"
        for item in failure["items"]:
            yield f"    {item['item']}: {item['text']}"
            yield from (f'      "{quote}"' for quote in _proof(item))


def _proof(item: Mapping[str, Any]) -> dict[str, None]:
    """The quotations of the judges that say that the failed item does not hold."""
    fails = {WORDS[item["item"].partition(".")[0]].fails, ABSENCE.fails}
    return dict.fromkeys(
        judged["quote"]
        for judged in item["judged"]
        if judged["verdict"] in fails and judged["quote"]
    )


def _people_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    """People's decisions: over everything left to them, then by severity, category and tag.

    `figures` is the value of `by_people` in a summary document.
    """
    yield f"  by people: {describe_people(figures)}"
    for name in ("severity", "category", "tag"):
        for key, figure in figures[f"by_{name}"].items():
            yield f"    {name} {key}: {describe_people(figure)}"


SUMMARY = RunShape(summaries, summary_lines)
"""The shape that `results RUN --shape summary` prints."""


def _failure(case: Case, evaluation: Evaluation) -> dict[str, Any]:
    against = [
        item for item in checklist(case.expectation) if passed_item(item, evaluation) is False
    ]
    return {
        "severity_expectation": case.severity,
        "case_id": case.case_id,
        "suite_id": case.suite_id,
        "title": case.document["title"],
        "category": case.category,
        "repetition": evaluation.repetition,
        "reason": evaluation.score.reason if evaluation.score else None,
        "items": [
            {"item": item.key, "text": item.text, "judged": quotations(item, evaluation.verdicts)}
            for item in against
        ],
    }


def _of_cases(tally: PassTally) -> dict[str, Any]:
    return {"cases": tally.scored, "passed": tally.passed, "rate": tally.as_json()["rate"]}


def _k_of_n(tally: Mapping[str, Any]) -> str:
    return f"{tally['passed']} of {tally.get('scored', tally.get('cases'))}"
