"""`/compare`: two runs, or two models, on the questions that both were asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated
from uuid import UUID

from pydantic import Field

from failproof_es.configuration.recorded import repetitions_of
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import BadParameter, Key, PagedQuery, Paging, one_page, word
from failproof_es.console.parts.compare import (
    ComparedRun,
    ModelsCompared,
    PairShown,
    RenamedModel,
    ValueShown,
    models_compared,
    run_compared,
    value_shown,
    without_difference,
)
from failproof_es.console.texts import text_shown
from failproof_es.core.pairing import counterparts
from failproof_es.core.run import Run
from failproof_es.core.selection import why_incomparable
from failproof_es.engine.related_runs.attempts import attempt_before
from failproof_es.engine.related_runs.differences import (
    CaseDifferences,
    case_differences,
    configuration_differences,
    model_differences,
    renamed_models,
)
from failproof_es.problems import InvalidInput
from failproof_es.reading.listed_runs import RunChoice, newest_choices
from failproof_es.reading.overviews.compared_runs import (
    MOST_OF_RUN,
    MOST_PAIRED,
    ComparedRuns,
    Which,
)
from failproof_es.reading.overviews.run_comparison import (
    ClassChange,
    ComparedGroup,
    ComparedPair,
    RunComparison,
    Side,
)
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.reading.reader import resolve_run
from failproof_es.support.statistics import benjamini_hochberg
from failproof_es.support.text_differences import text_difference

MOST_OF_AN_ANSWER = 20_000
"""Characters of an answer, as JSON, that are compared."""
_MOST_VALUES = 200
_MOST_CASES = 100
_MOST_CHOICES = 100
_DISCORDANT = ("discordant", "worse", "better")


class CompareQuery(PagedQuery):
    """The compared runs, one model of each, and the choice of listed pairs."""

    limit: int = Field(10, ge=1, le=50, description="Rows of a page.")
    base: str | None = Field(
        None,
        max_length=300,
        description="The run that is compared with: number, id or `latest`. The attempt before, "
        "where it is left out.",
    )
    other: str | None = Field(None, max_length=300, description="The run that is judged.")
    run: tuple[Annotated[str, Field(max_length=300)], ...] = Field(
        (),
        max_length=50,
        description="Both runs, in place of `base` and `other`: the older one is the base.",
    )
    model: str | None = Field(
        None,
        max_length=300,
        description="A model of `other`; without, the one with the most pairs that differ.",
    )
    base_model: str | None = Field(
        None, max_length=300, description="The model of `base`; that of the same key without."
    )
    show: Which = Field(
        "discordant",
        description="The pairs that are listed. `worse`: passed in the base alone; `better`: in "
        "the other alone; `discordant`: both of these.",
    )


class ComparePage(PageModel):
    """Two runs and their differences; empty where no runs are chosen."""

    choices: tuple[RunChoice, ...]
    """Runs to choose from: the newest that are not hidden, and those compared."""
    base: ComparedRun | None = None
    other: ComparedRun | None = None
    same_experiment: bool = False
    incomparable: str | None = None
    """Why the differences say nothing about the models; the counts are shown alone then."""
    same_cases: int = 0
    compared_cases: int = 0
    """Number of these cases that the page compares: of many a sample, drawn by digest. All pairs
    are at `/compare.jsonl`."""
    only_base_cases: int = 0
    only_other_cases: int = 0
    models: tuple[ModelsCompared, ...] = ()
    without_counterpart: tuple[str, ...] = ()
    """Models of `other` that `base` did not ask."""
    renamed: tuple[RenamedModel, ...] = ()
    """Models of both runs that are set alike, and that only one run has under that key."""
    chosen: ModelsCompared | None = None
    """The models whose pairs are listed."""
    groups: tuple[ComparedGroup, ...] = ()
    classes: tuple[ClassChange, ...] = ()
    rows: tuple[PairShown, ...] = ()
    paging: Paging
    configuration: tuple[ValueShown, ...] = ()
    model_settings: tuple[ValueShown, ...] = ()
    more_values: int = 0
    """Values that differ and are not shown."""
    cases: CaseDifferences | None = None
    """`None` where they are too many to be read."""


def read_compare(request: PageRequest[CompareQuery]) -> ComparePage:
    """The comparison that the URL names."""
    runs = _runs(request)
    if runs is None:
        nothing = request.query.paging((), None, matching=None, total=None)
        return ComparePage(as_of=request.as_of, choices=_choices(request), paging=nothing)
    one, two = runs
    sides, alone = _sides(request.query, one, two)
    compared = ComparedRuns(request.connection, _id(one), _id(two), most=_most_cases(sides))
    comparison = _compare_sides(request, compared, sides)
    counts = comparison.counts
    adjusted = benjamini_hochberg([counted.paired.p for counted in counts])
    models = [
        models_compared(pair, counted, p, len(counts))
        for pair, counted, p in zip(sides, counts, adjusted, strict=True)
    ]
    recorded = (RecordedRun(request.connection, run, request.reader) for run in runs)
    incomparable = why_incomparable(*(run.chosen_by_result for run in recorded))
    if incomparable is not None:
        models = [*map(without_difference, models)]
    chosen = models.pop(comparison.listed) if models else None
    if chosen is not None:
        models.insert(0, chosen)
    rows, following = _show_pairs(request, compared, comparison.pairs)
    settings = tuple(map(value_shown, configuration_differences(one.started, two.started)))
    model_settings = tuple(map(value_shown, model_differences(one, two)))
    return ComparePage(
        as_of=request.as_of,
        choices=_choices(request, one, two),
        base=run_compared(one, request.remarks_on(one)),
        other=run_compared(two, request.remarks_on(two)),
        incomparable=incomparable,
        same_experiment=one.started.experiment.digest == two.started.experiment.digest,
        same_cases=compared.same_cases,
        compared_cases=compared.compared_cases,
        only_base_cases=compared.only_base,
        only_other_cases=compared.only_other,
        models=tuple(models),
        without_counterpart=alone,
        renamed=tuple(
            RenamedModel(base=base, other=other)
            for base, other in renamed_models(one.started.models, two.started.models)
        ),
        chosen=chosen,
        groups=comparison.groups,
        classes=comparison.classes if request.query.show in _DISCORDANT else (),
        rows=rows,
        paging=request.query.paging(
            rows,
            following,
            matching=None if chosen is None else _matching(chosen, request.query.show),
            total=None if chosen is None else chosen.pairs,
        ),
        configuration=settings[:_MOST_VALUES],
        model_settings=model_settings[:_MOST_VALUES],
        more_values=sum(
            max(len(values) - _MOST_VALUES, 0) for values in (settings, model_settings)
        ),
        cases=_cases(request, compared, one, two),
    )


def every_pair(request: PageRequest[CompareQuery]) -> Iterator[ComparedPair]:
    """All pairs that match the filter, without their answers, read some cases at a time."""
    runs = _runs(request)
    if runs is None:
        return iter(())
    sides, _ = _sides(request.query, *runs)
    if not sides:
        return iter(())
    compared = ComparedRuns(request.connection, *map(_id, runs), most=_most_cases(sides))
    listed = _listed_sides(request.query, sides)
    if listed is None:
        listed = compared.most_changed(sides)
    return compared.pairs(*sides[listed], request.query.show)


def _runs(request: PageRequest[CompareQuery]) -> tuple[Run, Run] | None:
    """The base and the judged run; `None` where nothing was chosen."""
    request.need_projections("Without them: `failproof-es diff`.")
    base, other = request.query.base, request.query.other
    if request.query.run:
        return _chosen_runs(request, request.query)
    if other is None:
        if base is not None:
            raise BadParameter("other", "it is missing: the run that is judged")
        return None
    judged = request.begun_run(resolve_run(request.connection, other))
    if base is not None:
        return request.begun_run(resolve_run(request.connection, base)), judged
    before = attempt_before(request.connection, _id(judged))
    if before is not None:
        return request.begun_run(before), judged
    raise InvalidInput.because(
        "no-comparable-run",
        f"no run before run {judged.started.run_number:,} asked much of the same",
        remedy="say which one to compare with: /compare?base=RUN&other=RUN",
    )


def _chosen_runs(request: PageRequest[CompareQuery], query: CompareQuery) -> tuple[Run, Run]:
    """The two runs of `run`, the older one first. Raises `BadParameter` unless there are two."""
    if query.base is not None or query.other is not None:
        raise BadParameter("run", "it stands in place of base and other: leave these out")
    chosen = {resolve_run(request.connection, reference) for reference in query.run}
    if len(chosen) != 2:
        raise BadParameter("run", f"choose two runs to compare, not {len(chosen)}")
    runs = [request.begun_run(run_id) for run_id in chosen]
    runs.sort(key=lambda run: run.started.run_number)
    return runs[0], runs[1]


def _sides(
    query: CompareQuery, one: Run, two: Run
) -> tuple[list[tuple[Side, Side]], tuple[str, ...]]:
    """Pairs of compared models, that of `model` first; and models without a counterpart."""
    bases, other_models = (tuple(model.key for model in run.started.models) for run in (one, two))
    for name, key, models in (
        ("model", query.model, other_models),
        ("base_model", query.base_model, bases),
    ):
        if key is not None and key not in models:
            raise BadParameter(name, f"the run asked no such model; it asked {', '.join(models)}")
    if query.base_model is not None:
        pairs = [(query.base_model, query.model or other_models[0])]
    else:
        pairs = [(base, key) for key, base in counterparts(other_models, bases) if base is not None]
        pairs.sort(key=lambda pair: pair[1] != query.model)
        if query.model is not None and query.model not in {pair[1] for pair in pairs}:
            raise BadParameter(
                "base_model", "the base did not ask this model; choose one of its own"
            )
    alone = tuple(key for key in other_models if key not in {pair[1] for pair in pairs})
    return [
        (Side(_id(one), base, repetitions_of(one.started)),
         Side(_id(two), other, repetitions_of(two.started)))
        for base, other in pairs
    ], alone  # fmt: skip


def _most_cases(sides: list[tuple[Side, Side]]) -> int:
    """Most cases to compare, so that a page reads a bounded number of evaluations."""
    repetitions = max((min(side.repetitions for side in pair) for pair in sides), default=1)
    return max(min(MOST_PAIRED, MOST_OF_RUN // (max(len(sides), 1) * repetitions)), 1)


def _compare_sides(
    request: PageRequest[CompareQuery], compared: ComparedRuns, sides: list[tuple[Side, Side]]
) -> RunComparison:
    query = request.query
    after = query.begin(_int32, word, word, _int32, UUID)
    if not sides:
        return RunComparison((), (), (), (), 0)
    return compared.compare(
        sides, query.show, listed=_listed_sides(query, sides), after=after, limit=query.limit + 1
    )


def _listed_sides(query: CompareQuery, sides: list[tuple[Side, Side]]) -> int | None:
    """The sides whose pairs are listed; `None`: those with the most pairs that differ."""
    return 0 if query.model is not None or len(sides) == 1 else None


def _show_pairs(
    request: PageRequest[CompareQuery], compared: ComparedRuns, candidates: Sequence[ComparedPair]
) -> tuple[tuple[PairShown, ...], Key | None]:
    """The pairs of this page with their answers."""
    pairs, following = one_page(candidates, request.query.limit, lambda pair: pair.key)
    ids = [
        evaluation_id
        for pair in pairs
        for evaluation_id in (pair.base_evaluation_id, pair.other_evaluation_id)
    ]
    answers = compared.answers(ids, MOST_OF_AN_ANSWER)
    rows = []
    for pair in pairs:
        one, two = answers[pair.base_evaluation_id], answers[pair.other_evaluation_id]
        found_differences = text_difference(one.answer, two.answer)
        cut = one.answer_cut or two.answer_cut or bool(found_differences.lines_left_out)
        rows.append(
            PairShown(
                pair=pair,
                base_reason=one.reason,
                other_reason=two.reason,
                base_answer=text_shown(one.answer, None),
                other_answer=text_shown(two.answer, None),
                same_answer=found_differences.same,
                lines=found_differences.lines,
                cut=cut,
            )
        )
    return tuple(rows), following


def _int32(text: str) -> int:
    number = int(text)
    if not -(2**31) <= number < 2**31:
        raise ValueError
    return number


def _matching(models: ModelsCompared, show: Which) -> int:
    return {
        "discordant": models.worse + models.better,
        "worse": models.worse,
        "better": models.better,
        "both_failed": models.both_failed,
        "both_passed": models.both_passed,
        "all": models.pairs,
    }[show]


def _cases(
    request: PageRequest[CompareQuery], compared: ComparedRuns, one: Run, two: Run
) -> CaseDifferences | None:
    if not compared.only_base and not compared.only_other:
        return CaseDifferences(compared.same_cases, (), (), ())
    if not compared.looked_into:
        return None
    differences = case_differences(request.connection, one, two)
    return replace(
        differences,
        only_left=differences.only_left[:_MOST_CASES],
        only_right=differences.only_right[:_MOST_CASES],
        changed=differences.changed[:_MOST_CASES],
    )


def _choices(request: PageRequest[CompareQuery], *compared: Run) -> tuple[RunChoice, ...]:
    newest = newest_choices(request.connection, _MOST_CHOICES)
    choices = {choice.run_number: choice for choice in newest}
    for started in sorted((run.started for run in compared), key=lambda run: -run.run_number):
        own = RunChoice(started.run_number, started.name, started.timestamp)
        choices.setdefault(own.run_number, own)
    return tuple(choices.values())


def _id(run: Run) -> UUID:
    return run.started.originator_id


PAGE = Page(
    name="compare",
    path="/compare",
    says="Better or worse: two runs on what both were asked, the pairs that differ first.",
    read=read_compare,
    rows=every_pair,
)
