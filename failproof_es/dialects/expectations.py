"""The expectations of a case beside the answer, defined once for every surface.

    for label, text in unmet_beside_answer(case, outcome):
        print(label, text)

`support.text_differences.marked_difference(expectation.text, expectation.got)` has the parts that
differ, for a surface that can colour them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby

import orjson

from failproof_es.core.case import Case
from failproof_es.core.outcome import EvaluationOutcome
from failproof_es.core.thoughts import split_thoughts
from failproof_es.dialects.kit import cut_off
from failproof_es.dialects.protocol import Expectation, StatesExpectations
from failproof_es.dialects.registry import dialect_named
from failproof_es.support.class_words import class_word
from failproof_es.support.text_differences import marked_difference

MOST = 200
"""Number of expectations of a case that are stated at most."""

_WHOLE = Expectation("a whole answer", "it was cut off", False, "the answer was cut off")


def expectations_of(case: Case, outcome: EvaluationOutcome) -> tuple[Expectation, ...]:
    """Everything that the case expects of an answer, and what came; at most `MOST` statements.

    `got` is filled in: the answer without its thoughts where the dialect names nothing else, `None`
    if there is no answer. Never raises: a dialect that is not installed, or has no words for it,
    gives the case's recorded expectation as one statement.
    """
    answer = None if outcome.answer is None else split_thoughts(outcome.answer).text
    stated = [
        replace(expectation, got=answer) if expectation.got is None else expectation
        for expectation in _stated_expectations(case, outcome)[:MOST]
    ]
    if outcome.class_ == cut_off.CLASS and outcome.passed is False:
        return _WHOLE, *stated
    return tuple(stated)


def unmet(expectations: Sequence[Expectation]) -> tuple[Expectation, ...]:
    """The expectations that the answer does not meet; all of them if nothing decided which."""
    failed = tuple(expectation for expectation in expectations if expectation.met is False)
    return failed or tuple(expectations)


def unmet_beside_answer(case: Case, outcome: EvaluationOutcome) -> list[tuple[str, str]]:
    """(label, text) of what was expected, of what came, and of the difference of similar texts.

    The labels are `expected`, `got` and `differs`. What several expectations in a row got stands
    once, behind them. Texts are whole and may be hostile.
    """
    failed = unmet(expectations_of(case, outcome))
    return [pair for _, group in groupby(failed, lambda one: one.got) for pair in _pairs(group)]


def _pairs(with_one_answer: Iterable[Expectation]) -> Iterator[tuple[str, str]]:
    expectations = list(with_one_answer)
    yield from (("expected", expectation.expected) for expectation in expectations)
    got = expectations[0].got
    yield "got", "(no answer)" if got is None else got or "(empty)"
    for expectation in expectations:
        if (difference := marked_difference(expectation.text, got)) is not None:
            yield "differs", difference.in_one_line()


def fault_of(case: Case, outcome: EvaluationOutcome) -> str:
    """Why an evaluation did not pass, in words that other cases can share, for counting.

    The class of the answer, or the kind of its end, if the dialect names no fault.
    """
    faults = dict.fromkeys(
        expectation.fault
        for expectation in expectations_of(case, outcome)
        if expectation.met is False
    )
    return "; ".join(faults) or outcome.ended_kind or class_word(outcome.class_ or "not passed")


def _stated_expectations(case: Case, outcome: EvaluationOutcome) -> Sequence[Expectation]:
    with suppress(Exception):  # a foreign package's code, or details of an earlier version
        dialect = dialect_named(case.dialect)
        if isinstance(dialect, StatesExpectations):
            return dialect.expectations(case, outcome)
    if not case.expectation:
        return ()
    document = orjson.dumps(case.expectation, option=orjson.OPT_SORT_KEYS).decode()
    fault = class_word(outcome.class_ or "not met")
    return (Expectation(document, met=outcome.passed, fault=fault),)
