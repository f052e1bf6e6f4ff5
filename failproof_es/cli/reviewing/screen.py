"""One evaluation on the screen, and a reviewer's answers to it.

All text of models and cases is printed behind a bar, with control characters escaped: it
cannot imitate a question of this program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import click

from failproof_es.cli.reviewing.answers import (
    OUTCOMES,
    SEVERITIES,
    SKIP,
    VERDICTS,
    InvalidAnswer,
    item_verdict,
    severity,
    tags,
    valid,
    word,
)
from failproof_es.configuration.choices import PromptTemplate
from failproof_es.core.evaluation import Evaluation
from failproof_es.core.severity import severity_of
from failproof_es.dialects.kit.judging import Item
from failproof_es.dialects.protocol import Dialect
from failproof_es.engine.reviews.conversation import ConversationTurn, conversation
from failproof_es.engine.reviews.people import ReviewedEvaluation, ReviewInput
from failproof_es.events import Reviewed, ReviewedItem, ReviewVerdict
from failproof_es.support.untrusted_text import lines, one_line

T = TypeVar("T")

_BAR = "│ "
_QUIT = "quit"
_ASKS = {
    "must_do": "must do",
    "must_not_do": "must not do",
    "pass_criteria": "criterion",
}


class ReviewQuit(Exception):
    """The reviewer answered `quit`, to continue later."""


def show(
    evaluation: ReviewedEvaluation,
    dialect: Dialect,
    place: str,
    *,
    templates: Mapping[str, PromptTemplate],
    unblind: bool,
) -> None:
    """Print the case, the conversation and, only if `unblind`, the model and the engine's verdict.

    `place` is a text such as `3 of 20`, `templates` has the models' prompt templates by key.
    """
    case, key = evaluation.recorded.case, evaluation.recorded.key
    severity = severity_of(case)
    about = [
        f"suite {case.suite_id}",
        *([f"model {key.model_key}"] if unblind else []),
        *([f"repetition {key.repetition}"] if key.repetition > 1 else []),
        *([f"category {case.category}"] if case.category else []),
        *([f"severity if it fails {severity}"] if severity else []),
    ]
    title = case.document.get("title")
    heading = case.case_id if title is None else f"{case.case_id}: {title}"
    click.echo(f"\n== {place} == {one_line(heading)}")
    click.echo(one_line(", ".join(about)))
    for spoken in conversation(dialect, case, evaluation.state, templates.get(key.model_key)):
        click.echo(f"\n{turn_text(spoken)}")
    if not evaluation.state.replies:
        click.echo("\n(the model gave no answer)")
    if unblind:
        click.echo(f"\nthe engine: {one_line(engine_said(evaluation.state))}")


def show_labels(reviews: Sequence[Reviewed]) -> None:
    """Print the labels between which the reviewer is to decide."""
    for review in reviews:
        about = [review.verdict, *filter(None, [review.severity])]
        click.echo(f"\n{one_line(review.reviewer)} said {', '.join(about)}")
        for item in review.items:
            click.echo(f"  {item.item}: {item.verdict.replace('_', ' ')}")
        if review.notes:
            click.echo(_barred(review.notes))


def ask(items: Sequence[Item]) -> ReviewInput | None:
    """Ask for a verdict on each item of the checklist and overall; return the answers.

    `None` if the reviewer skips the evaluation. Raises `ReviewQuit` for the answer `quit`, and
    `click.Abort` for Ctrl-C.
    """
    reviewed_items: list[ReviewedItem] = []
    for item in items:
        click.echo(f"\n{item.key}, {_ASKS[item.kind]}: did it happen?\n{_barred(item.text)}")
        choices = (*OUTCOMES, SKIP, _QUIT)
        answer = _choice(", ".join(choices), choices)
        if answer != SKIP:
            reviewed_items.append(
                ReviewedItem(item=item.key, verdict=item_verdict(item.key, answer))
            )
    click.echo("\nAll in all:")
    verdict = _ask_overall_verdict(tuple(reviewed_items))
    if verdict is None:
        return None
    observed = _prompt(f"severity observed ({', '.join(SEVERITIES)}, or nothing)", severity)
    tagged = _prompt("tags (with commas between them, or nothing)", tags)
    notes = _prompt("notes (or nothing)", valid)
    return ReviewInput(verdict, tuple(reviewed_items), observed, tagged, notes.strip())


def _ask_overall_verdict(items: tuple[ReviewedItem, ...]) -> ReviewVerdict | None:
    def read(text: str) -> str:
        answer = word(text, (*VERDICTS, SKIP, _QUIT))
        if answer == "pass" and (broken := ReviewInput("pass", items).broken_items):
            raise InvalidAnswer(f"{', '.join(broken)} does not hold, so this is no pass")
        return answer

    verdict = _prompt_or_stop("pass, fail, unclear, skip, quit", read)
    return next((candidate for candidate in VERDICTS if candidate == verdict), None)


def engine_said(state: Evaluation) -> str:
    """The engine's verdict on the finished evaluation and its reason, as one text."""
    if state.score is not None:
        accuracy = state.score.scores.get("accuracy")
        number = "" if accuracy is None else f" {accuracy:g}"
        verdict = {True: ", passed", False: ", failed", None: ""}[state.score.passed]
        return f"scored{number}{verdict}: {state.score.reason}"
    assert state.abandoned is not None
    return f"abandoned, {state.abandoned.kind}: {state.abandoned.reason}"


def turn_text(spoken: ConversationTurn) -> str:
    """A turn of a conversation and its notes, each below a heading.

    A bar before each line keeps text from imitating a heading.
    """
    return "\n\n".join(f"{part.speaker}:\n{_barred(part.text)}" for part in spoken.parts)


def _barred(text: str) -> str:
    return "\n".join(_BAR + line for line in lines(text).split("\n"))


def _choice(question: str, words: tuple[str, ...]) -> str:
    return _prompt_or_stop(question, lambda text: word(text, words))


def _prompt_or_stop(question: str, read: Callable[[str], str]) -> str:
    answer = _prompt(question, read, required=True)
    if answer == _QUIT:
        raise ReviewQuit
    return answer


def _prompt(question: str, read: Callable[[str], T], *, required: bool = False) -> T:
    def take(text: str) -> T:
        try:
            return read(text)
        except InvalidAnswer as error:
            raise click.BadParameter(str(error)) from None

    default = None if required else ""
    answer: T = click.prompt(question, default=default, show_default=False, value_proc=take)
    return answer
