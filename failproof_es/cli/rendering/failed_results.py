"""Shows why results failed: the expectation and the answer, in a table or in two lines."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len

from failproof_es.cli.rendering.wrapping import with_end_cut
from failproof_es.core.thoughts import split_thoughts
from failproof_es.dialects.expectations import expectations_of, unmet, unmet_beside_answer
from failproof_es.reading.failure_reasons import FailureReasons
from failproof_es.reading.recorded_run import PlannedOutcome
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line, shortened

_ANSWER = "answer"
_WIDTH = 80
_NAME_WIDTH = 50


def expected_beside_got(planned: PlannedOutcome) -> list[tuple[str, str]]:
    """The expectation and the answer of a failed result, each with its label.

    Nothing for any other result. The only pair is the reason if its dialect names no expectation.
    The last pair is the answer if an expectation only got words that fit any answer, such as `did
    not happen`.
    """
    if not planned.failed:
        return []
    case, outcome = planned.case, planned.outcome
    pairs = unmet_beside_answer(case, outcome) or [("why", outcome.reason)]
    if outcome.answer and any(
        one.got is not None and one.got in one.fault
        for one in unmet(expectations_of(case, outcome))
    ):
        pairs.append((_ANSWER, split_thoughts(outcome.answer).text))
    return pairs


def worst_lines(failures: FailureReasons) -> Iterator[str]:
    """The worst failed results, two lines of at most 80 characters each, after a heading.

    Nothing if nothing failed. The lines are safe to print.
    """
    shown = len(failures.worst)
    if not shown:
        return
    of_read = "" if failures.read >= failures.failed else f"the first {failures.read:,} of "
    failed = plural(failures.failed, "failed evaluation")
    yield f"{failed}:" if shown == failures.failed else f"the worst {shown} of {of_read}{failed}:"
    for planned in failures.worst:
        yield from _two_lines(planned)


def _two_lines(planned: PlannedOutcome) -> Iterator[str]:
    """`suite/case MODEL: expected ...` and `got ...`; the name is cut so that both fit."""
    case, repetition = planned.case, planned.outcome.repetition
    again = f" ({repetition})" if repetition > 1 else ""
    name = one_line(f"{case.names[1]}{again} {planned.outcome.model_key}")
    first, *others = expected_beside_got(planned)
    expected = "; ".join([first[1], *(text for label, text in others if label == first[0])])
    yield _shorten(f"  {shortened(name, _NAME_WIDTH)}: {first[0]} {_in_one_line(expected)}")
    got = [pair for pair in others if pair[0] not in (first[0], _ANSWER)][:1]
    got += [pair for pair in others if pair[0] == _ANSWER]
    if got:
        yield _shorten("    " + ", ".join(f"{label} {_in_one_line(text)}" for label, text in got))


def _shorten(text: str) -> str:
    """The text in at most `_WIDTH` columns of a terminal."""
    return text if cell_len(text) <= _WIDTH else with_end_cut(text, _WIDTH)


def _in_one_line(text: str) -> str:
    return one_line(" ".join(text.split()))
