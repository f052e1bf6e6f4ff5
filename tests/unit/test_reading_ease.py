"""Docs, help and messages are written so that they are understood at the first reading.

`python -m tools.reading_ease` prints the worst sentences; the limits were chosen by reading and
mending the worst sixty. When a new one fails here, make two of it, or use shorter words.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tools.reading_ease import Measured, avoided, measure, measured, summary
from tools.sentences import Sentence, of_markdown, of_python


@dataclass(frozen=True)
class Limits:
    """What a group's sentences keep; `worst_decile`: nine in ten are at least so easy."""

    longest: int
    mean: float
    worst_decile: float


LIMITS = {
    "docs": Limits(longest=35, mean=77.0, worst_decile=56.0),
    "help": Limits(longest=30, mean=78.0, worst_decile=59.0),
    "messages": Limits(longest=30, mean=87.0, worst_decile=65.0),
}


@pytest.fixture(scope="module", params=sorted(LIMITS))
def group(request: pytest.FixtureRequest) -> tuple[Limits, list[Measured]]:
    return LIMITS[request.param], measured(request.param)


def test_no_sentence_is_too_long(group: tuple[Limits, list[Measured]]) -> None:
    limits, sentences = group
    assert [str(each) for each in sentences if each.words > limits.longest] == []


def test_a_group_reads_easily_all_in_all(group: tuple[Limits, list[Measured]]) -> None:
    limits, sentences = group
    found = summary(sentences)
    assert found.sentences > 100  # there is something to measure
    assert found.mean >= limits.mean
    assert found.worst_decile >= limits.worst_decile


def test_no_phrase_that_has_a_plainer_one(group: tuple[Limits, list[Measured]]) -> None:
    _, sentences = group
    found = [
        f"{each.sentence.path}:{each.sentence.line}: {phrase}"
        for each in sentences
        for phrase in avoided(each.sentence)
    ]
    assert found == []


def ease_of(text: str) -> float:
    ease = measure(Sentence("docs", "page.md", 1, text)).ease
    assert ease is not None
    return ease


def test_a_hard_sentence_has_less_ease_than_a_plain_one() -> None:
    hard = "What a shell writes, irrespective of its eventual destination, nobody here knows of."
    assert ease_of(hard) < 50 < ease_of("The log does not record what a shell writes to a file.")


def test_a_term_of_the_field_counts_as_a_word_of_two_syllables() -> None:
    assert ease_of("The evaluation reads its configuration from a file.") == ease_of(
        "The table reads its table from a file."
    )


def test_names_in_code_and_lists_of_them_count_as_one_short_word() -> None:
    named = "Set `retry_attempts`, `rate_limit_wait_ms` or `x` in this file for a run."
    assert ease_of(named) == ease_of("Set it in this file for a run.")


def test_sentences_of_a_page_are_found_where_they_stand() -> None:
    page = (
        "# Heading\n\nOne sentence here. Another\n[of two](target.md) lines, e.g. `a.b. C`.\n\n"
        "```\nno code\n```\n\n| head |\n|---|\n| a cell |\n\n- a point\n"
    )
    assert [(each.line, each.text) for each in of_markdown(page, "page.md")] == [
        (1, "Heading"),
        (3, "One sentence here."),
        (3, "Another of two lines, e.g. `a.b. C`."),
        (10, "head"),
        (12, "a cell"),
        (14, "a point"),
    ]


def test_messages_are_what_reads_as_english_and_is_said_to_users() -> None:
    module = '''
"""No message but a docstring of the module."""
SQL = "SELECT what is asked FROM the_table"
@option("--a", help="The help is measured as help, not here.")
def f(path, n):
    "Another docstring that is not a message."
    raise InvalidInput(f"{path} cannot be read: `{n}` is not a number. Give a number.")
'''
    assert [(each.line, each.text) for each in of_python(module, "module.py")] == [
        (7, "`{path}` cannot be read: `{n}` is not a number."),
        (7, "Give a number."),
    ]
