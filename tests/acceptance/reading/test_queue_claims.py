"""People take evaluations of a queue at the same time, leave, come back late, and submit twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from failproof_es.core.queues import count_statuses
from failproof_es.engine.history import read_run, recorded_evaluations
from failproof_es.engine.queues.claiming import Claim, claim_next, release, submit
from failproof_es.engine.queues.creating import create_queue
from failproof_es.engine.queues.reading import QueueReader
from failproof_es.engine.reviews.people import ReviewInput, read_reviews
from failproof_es.events import QueueCreated, Reviewed, ReviewVerdict
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration, write_suite

QUEUE_FIELDS = (
    "position", "chosen_by", "seed", "strata", "evaluations", "labels_each", "reviewers",
    "adjudicators", "blind", "policy",
)  # fmt: skip
PASS, FAIL = ReviewInput("pass"), ReviewInput("fail")


def queue_of(store: Store, folder: Path, url: str, cases: int, **fields: Any) -> QueueCreated:
    """A queue of all evaluations of a new run."""
    write_suite(folder, cases)
    write_configuration(folder, url)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=folder).exit_code == 0
    with store.lend() as connection:
        run_id = resolve_run(connection, "latest")
        evaluations = tuple(
            recorded.key.evaluation_id
            for recorded in recorded_evaluations(connection, read_run(connection, run_id))
        )
    usual: dict[str, Any] = {
        "position": 1, "chosen_by": "all", "seed": None, "strata": (), "evaluations": evaluations,
        "labels_each": 1, "reviewers": (), "adjudicators": (), "blind": True, "policy": "Decide.",
    }  # fmt: skip
    return create_queue(store, run_id, usual | fields, name=None)


def reviews_of(store: Store, evaluation_id: UUID) -> list[Reviewed]:
    with store.lend() as connection:
        return read_reviews(connection, [evaluation_id]).get(evaluation_id, [])


def taken(claim: Claim | None) -> Claim:
    assert claim is not None
    return claim


def test_an_evaluation_is_kept_for_whoever_took_it_until_they_leave_or_time_is_up(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    queue = queue_of(store, tmp_path, mock_url, 2)
    reader = QueueReader(queue)
    first = taken(claim_next(store, reader, "ann", seconds=60))
    assert taken(claim_next(store, reader, "ann")).evaluation_id == first.evaluation_id
    second = taken(claim_next(store, reader, "bob", seconds=0.3))
    assert second.evaluation_id != first.evaluation_id
    assert claim_next(store, reader, "cat") is None, "both are being worked on"
    time.sleep(0.35)
    third = taken(claim_next(store, reader, "cat"))
    assert third.evaluation_id == second.evaluation_id, "bob has let the time pass"
    release(store, queue, "ann", first.evaluation_id)
    assert taken(claim_next(store, reader, "dan")).evaluation_id == first.evaluation_id

    late = submit(store, second, PASS)
    assert late.outcome == "recorded", "a label that comes late is not lost"
    assert submit(store, third, PASS).outcome == "recorded"
    assert [review.reviewer for review in reviews_of(store, second.evaluation_id)] == ["bob", "cat"]


def test_two_windows_that_submit_one_evaluation_record_it_once(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    queue = queue_of(store, tmp_path, mock_url, 2)
    reader = QueueReader(queue)
    claim = taken(claim_next(store, reader, "ann"))
    with ThreadPoolExecutor(8) as pool:
        outcomes = Counter(
            submission.outcome
            for submission in pool.map(lambda _: submit(store, claim, PASS), range(8))
        )
    assert outcomes == {"recorded": 1, "repeated": 7}
    [review] = reviews_of(store, claim.evaluation_id)
    assert (review.queue, review.blind, review.adjudicates) == (queue.queue, True, False)
    assert review.seconds is not None and 0 <= review.seconds < 60
    other = submit(store, claim, FAIL)
    assert other.outcome == "conflict" and other.review == review
    assert reviews_of(store, claim.evaluation_id) == [review]


def test_nobody_decides_who_may_not_or_on_what_is_decided(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    queue = queue_of(store, tmp_path, mock_url, 1, labels_each=2)
    reader = QueueReader(queue)
    own = taken(claim_next(store, reader, "ann"))
    submit(store, own, PASS)
    submit(store, taken(claim_next(store, reader, "bob")), FAIL)
    usurped = replace(own, task="adjudicate", own_reviews=1)
    assert submit(store, usurped, PASS).outcome == "repeated", "she labelled it"
    assert submit(store, usurped, FAIL).outcome == "conflict"
    first, second = (taken(claim_next(store, reader, "cat", seconds=0.01)) for _ in range(2))
    assert first.task == second.task == "adjudicate"
    assert {review.reviewer for review in first.others} == {"ann", "bob"}
    time.sleep(0.02)
    late = taken(claim_next(store, reader, "dan"))
    assert submit(store, late, FAIL).review.adjudicates is True
    assert submit(store, first, PASS).outcome == "late", "it was decided meanwhile"
    assert [review.reviewer for review in reviews_of(store, own.evaluation_id)] == [
        "ann", "bob", "dan",
    ]  # fmt: skip
    with store.lend() as connection:
        [item] = reader.items(connection)
    assert item.status == "fail" and claim_next(store, reader, "eve") is None


def test_who_decided_in_one_queue_labels_in_another(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    first = queue_of(store, tmp_path, mock_url, 1, labels_each=2)
    for person, opinion in (("ann", PASS), ("bob", FAIL), ("cat", PASS)):
        submit(store, taken(claim_next(store, QueueReader(first), person)), opinion)
    fields = first.model_dump(include=set(QUEUE_FIELDS)) | {"labels_each": 1}
    second = create_queue(store, first.about, fields, name="second")
    claim = taken(claim_next(store, QueueReader(second), "cat"))
    assert claim.task == "label" and submit(store, claim, FAIL).review.adjudicates is False
    with store.lend() as connection:
        [before], [after] = (QueueReader(own).items(connection) for own in (first, second))
    assert (before.status, after.status) == ("pass", "fail"), "each queue has its own verdicts"


@pytest.mark.slow
def test_people_at_the_same_time_label_each_evaluation_as_often_as_wanted(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    """Five people; each leaves some evaluations, submits some twice, and forgets some claims."""
    queue = queue_of(store, tmp_path, mock_url, 40, labels_each=2)
    people = [f"person-{number}" for number in range(5)]

    def work(person: str) -> int:
        chance, reader, given = random.Random(person), QueueReader(queue), 0
        idle = 0
        while idle < 40:
            claim = claim_next(store, reader, person, seconds=chance.choice((0.05, 5.0)))
            if claim is None:
                idle += 1
                time.sleep(0.02)
                continue
            act = chance.random()
            if act < 0.1:
                release(store, queue, person, claim.evaluation_id)
                continue
            if act < 0.2:
                continue  # forgotten: the claim ends by itself, or is taken up again
            verdict: ReviewVerdict = chance.choice(("pass", "fail"))
            outcome = submit(store, claim, ReviewInput(verdict, notes=person)).outcome
            if outcome == "late":  # the short claim ended, and somebody else decided meanwhile
                assert claim.task == "adjudicate"
                continue
            assert outcome == "recorded"
            given += 1
            if act < 0.4:
                again = submit(store, claim, ReviewInput(verdict, notes=person)).outcome
                assert again == "repeated"
        return given

    with ThreadPoolExecutor(len(people)) as pool:
        given = dict(zip(people, pool.map(work, people), strict=True))
    with store.lend() as connection:
        items = QueueReader(queue).items(connection)
        reviews = [
            review
            for evaluation_id in queue.evaluations
            for review in read_reviews(connection, [evaluation_id]).get(evaluation_id, [])
        ]
    assert Counter(review.reviewer for review in reviews) == Counter(given)
    assert all(review.notes == review.reviewer for review in reviews), "attributed rightly"
    assert "waiting" not in count_statuses(items)
    for item in items:
        assert item.status != "disputed" or len(item.labels) == len(people)
        assert item.adjudication is None or item.adjudication.reviewer not in item.labels


def test_only_what_was_reviewed_meanwhile_is_read_again(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    queue = queue_of(store, tmp_path, mock_url, 3)
    reader = QueueReader(queue)
    with store.lend() as connection:
        before = reader.items(connection)
        assert all(
            one is other for one, other in zip(before, reader.items(connection), strict=True)
        )
    claim = taken(claim_next(store, reader, "ann"))
    submit(store, claim, PASS)
    with store.lend() as connection:
        after = reader.items(connection)
    assert [one is other for one, other in zip(before, after, strict=True)] == [False, True, True]
