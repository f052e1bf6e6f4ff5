"""Labels a queue at the terminal, evaluation by evaluation."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from uuid import UUID

import click

from failproof_es.cli.rendering.output import say
from failproof_es.cli.reviewing.chosen_evaluations import keys_of
from failproof_es.cli.reviewing.policies import policy_lines
from failproof_es.cli.reviewing.screen import ReviewQuit, ask, show, show_labels
from failproof_es.configuration.prompt_template import templates_of
from failproof_es.core.evaluation import EvaluationKey
from failproof_es.core.queues import count_statuses
from failproof_es.dialects.kit.judging import checklist
from failproof_es.engine.history import read_evaluations
from failproof_es.engine.queues.claiming import Claim, claim_next, release, submit
from failproof_es.engine.queues.creating import Queue
from failproof_es.engine.queues.reading import QueueReader
from failproof_es.engine.required_plugins import require_dialect
from failproof_es.engine.reviews.people import ReviewInput, finished_evaluations
from failproof_es.problems import InvalidInput
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.store import Store
from failproof_es.support.plurals import plural


def label_queue(
    store: Store,
    run: RecordedRun,
    queue: Queue,
    reviewer: str,
    keeping_up: Callable[[], AbstractContextManager[None]],
) -> None:
    """Ask the reviewer about one evaluation of the queue after the other; say what was done.

    Each verdict is on record at once; `keeping_up` is entered before the first one. Raises
    `InvalidInput` if the queue is closed, or not for this reviewer.
    """
    reader, keys = QueueReader(queue.created), keys_of(run, queue.created.evaluations)
    claimed: dict[UUID, None] = {}
    done = 0
    try:
        with ExitStack() as stack:
            while claim := claim_next(store, reader, reviewer, after=next(reversed(claimed), None)):
                if claim.evaluation_id in claimed:
                    break  # everything that is left was skipped
                if not claimed:
                    for line in policy_lines(queue.created.policy):
                        say(line)
                claimed[claim.evaluation_id] = None
                if opinion := _ask_about(store, run, claim, keys[claim.evaluation_id]):
                    if not done:
                        stack.enter_context(keeping_up())
                    done += _record(store, claim, opinion)
    except ReviewQuit:
        pass
    except click.Abort:
        click.echo()  # the last prompt has no end of line
        raise
    finally:
        for evaluation_id in claimed:
            release(store, queue.created, reviewer, evaluation_id)
    with store.lend() as connection:
        statuses = count_statuses(reader.items(connection))
    counts = ", ".join(f"{count:,} {status}" for status, count in statuses.items())
    say(f"{plural(done, 'verdict')} by {reviewer}; {queue.created.queue}: {counts}")


def _ask_about(
    store: Store, run: RecordedRun, claim: Claim, key: EvaluationKey
) -> ReviewInput | None:
    """The reviewer's answers about the claimed evaluation; `None` if they skip it."""
    dialect, templates = require_dialect(run.started), templates_of(run.started)
    with store.lend() as connection:
        [evaluation] = finished_evaluations(connection, read_evaluations(connection, [key]))
    show(
        evaluation, dialect, f"{claim.place} of {len(claim.queue.evaluations)}",
        templates=templates, unblind=not claim.queue.blind,
    )  # fmt: skip
    show_labels(claim.others)
    return ask(checklist(evaluation.recorded.case.expectation))


def _record(store: Store, claim: Claim, opinion: ReviewInput) -> bool:
    """Record the verdict; whether it is on record now.

    Raises `InvalidInput` if the reviewer gave another one meanwhile.
    """
    submission = submit(store, claim, opinion)
    if submission.outcome == "late":
        say(f"{submission.review.reviewer} has decided meanwhile: this decision is not on record")
    if submission.outcome == "conflict":
        raise InvalidInput.because(
            "newer-verdict",
            f"{claim.person} said {submission.review.verdict} meanwhile, in another window: the "
            "verdict given here is not on record",
            remedy="`failproof-es review RUN --again` records another verdict",
        )
    return submission.outcome != "late"
