"""The part of its cases and models that a run asks, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from failproof_es.events import Selection, SuiteSnapshot
from failproof_es.support.plurals import plural

RESULT_KINDS = ("failed", "errors", "unscored")
"""Kinds of patterns such as `failed:3`: cases with such a result in that run, whatever the model.

They are the keys of `reading.result_conditions.CHOICES`, which says what each means.
"""


def result_pattern(pattern: str) -> tuple[str, str] | None:
    """Kind and run of a pattern such as `failed:3`; `None` if it is another pattern."""
    kind, _, run = pattern.partition(":")
    return (kind, run) if run and kind in RESULT_KINDS else None


def chosen_by_score(selection: Selection | None) -> str | None:
    """The patterns that chose cases by their scores in a run, joined; `None` without any.

    Choosing failures selects by the score. Leaving out those without a score does, too: a model
    decides which of its answers have none. Asking only these again selects by no score.
    """
    if selection is None:
        return None
    failed = [pattern for pattern in selection.only if pattern.startswith("failed:")]
    left_out = [f"without {pattern}" for pattern in selection.exclude if result_pattern(pattern)]
    return ", ".join([*failed, *left_out]) or None


class ChosenByResult(NamedTuple):
    """Results chose what a run asked, so that its rates are no measurement."""

    reason: str
    """Why, in words."""
    patterns: str | None
    """What `chosen_by_score` gives, if that alone chose; `None` if answers were asked again because
    of their results, or are carried over from such a run."""


def why_incomparable(one: ChosenByResult | None, other: ChosenByResult | None) -> str | None:
    """Why a difference of two runs says nothing about their models; `None` if it does.

    Whoever failed by chance passes more often when asked again. Two runs whose cases the same
    results chose, and that asked all of them anew, can be compared.
    """
    if one is None and other is None:
        return None
    if one is not None and other is not None and one.patterns == other.patterns is not None:
        return None
    by_result = other or one
    return None if by_result is None else by_result.reason


def describe_recorded_part(
    selection: Selection | None,
    configuration: Mapping[str, Any],
    cases: int,
    models: int,
    suites: Sequence[SuiteSnapshot] = (),
) -> str | None:
    """The part that a run asked, by `prompts.filters` and its selection, in words.

    `None` if it asked all cases and models. `configuration` is the recorded one, `suites` are the
    recorded files.
    """
    part = "" if selection is None else describe_part(selection, cases, models)
    if filters := " and ".join(_recorded_filters(configuration)):
        fitting = cases if selection is None else selection.of_cases
        chosen = f"only cases with {filters} (prompts.filters)"
        if (held := _count_held(suites)) is not None:
            chosen = f"{fitting:,} of {plural(held, 'case')}: {chosen}"
        elif not part:
            chosen = f"{plural(cases, 'case')}: {chosen}"
        part = f"{part}; {chosen}" if part else chosen
    return part or None


def describe_cases(suite: SuiteSnapshot) -> str:
    """The asked cases of a file: `15 of 81`; `81` if all are asked or the file was not counted."""
    if suite.of_cases in (None, suite.cases):
        return f"{suite.cases:,}"
    return f"{suite.cases:,} of {suite.of_cases:,}"


def _count_held(suites: Sequence[SuiteSnapshot]) -> int | None:
    """The number of cases that the files hold; `None` without files, or if nobody counted one's."""
    counts = [suite.of_cases for suite in suites]
    return sum(filter(None, counts)) if counts and None not in counts else None


def _recorded_filters(configuration: Mapping[str, Any]) -> Iterator[str]:
    """Each filter in words; a configuration of an unknown form has none."""
    prompts = configuration.get("prompts")
    filters = prompts.get("filters") if isinstance(prompts, Mapping) else None
    for name, values in filters.items() if isinstance(filters, Mapping) else ():
        if isinstance(values, Sequence) and not isinstance(values, str) and values:
            yield f"{name} {' or '.join(map(str, values))}"


def describe_part(selection: Selection, cases: int, models: int) -> str:
    """A selection in words: `100 of 1,432 cases: sample of 100, seed 7`; empty if it is of all.

    `cases` and `models` are the numbers of selected ones.
    """
    parts = []
    if how := ", ".join(_choices(selection)):
        parts.append(f"{cases:,} of {plural(selection.of_cases, 'case')}: {how}")
    if selection.models:
        names = ", ".join(selection.models)
        parts.append(f"{models} of {plural(selection.of_models, 'model')}: {names}")
    if chosen_by_score(selection) is not None:
        parts.append("chosen by their scores, so its rates are no measurement")
    return "; ".join(parts)


def _choices(selection: Selection) -> list[str]:
    choices = []
    if selection.only:
        choices.append(f"only {' '.join(selection.only)}")
    if selection.exclude:
        choices.append(f"without {' '.join(selection.exclude)}")
    if selection.limit is not None:
        choices.append(f"the first {selection.limit:,}")
    if selection.sample is not None:
        choices.append(f"sample of {selection.sample:,}, seed {selection.seed}")
    return choices
