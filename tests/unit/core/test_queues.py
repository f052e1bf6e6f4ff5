"""What becomes of an evaluation of a queue, and who can do what with it."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import combinations, permutations
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from failproof_es.core.case import operations_id, review_id
from failproof_es.core.queues import QueueItem, count_people, count_statuses
from failproof_es.events import QueueCreated, Reviewed, ReviewVerdict
from tests.examples import examples

RUN, EVALUATION = UUID(int=1), UUID(int=2)
NOW = datetime(2026, 11, 30, tzinfo=UTC)
PEOPLE = ("ann", "bob", "cat", "dan")
VERDICTS: tuple[ReviewVerdict, ...] = ("pass", "fail", "unclear")


def queue(
    labels_each: int = 2, reviewers: tuple[str, ...] = (), adjudicators: tuple[str, ...] = (), *,
    blind: bool = True,
) -> QueueCreated:  # fmt: skip
    return QueueCreated(
        originator_id=operations_id(RUN), originator_version=1, timestamp=NOW, run_id=None,
        about=RUN, who="w", where="h", queue="audit", position=9, chosen_by="", seed=None,
        strata=(), evaluations=(EVALUATION,), labels_each=labels_each, reviewers=reviewers,
        adjudicators=adjudicators, blind=blind, policy="By the case alone.",
    )  # fmt: skip


def review(
    version: int, reviewer: str, verdict: ReviewVerdict, *, adjudicates: bool = False,
    blind: bool | None = True,
) -> Reviewed:  # fmt: skip
    return Reviewed(
        originator_id=review_id(EVALUATION), originator_version=version, timestamp=NOW, run_id=None,
        about=RUN, who="w", where="h", evaluation_id=EVALUATION, reviewer=reviewer, items=(),
        verdict=verdict, severity=None, tags=(), notes="", blind=blind, file_sha256=None,
        sheet=None, queue="audit", seconds=None, adjudicates=adjudicates,
    )  # fmt: skip


def item(of: QueueCreated, *reviews: Reviewed) -> QueueItem:
    return QueueItem.of(of, EVALUATION, reviews)


def test_labels_that_agree_decide_and_others_are_decided_by_a_third() -> None:
    first = review(1, "ann", "pass")
    assert (item(queue()).status, item(queue()).missing) == ("waiting", 2)
    assert (item(queue(), first).status, item(queue(), first).missing) == ("waiting", 1)
    assert item(queue(), first, review(2, "bob", "pass")).status == "pass"
    disputed = (first, review(2, "bob", "fail"))
    own = item(queue(), *disputed)
    assert own.status == "disputed" and own.missing == 0
    assert [own.task_of(person) for person in PEOPLE] == [None, None, "adjudicate", "adjudicate"]
    decided = item(queue(), *disputed, review(3, "cat", "fail", adjudicates=True))
    assert decided.status == "fail" and decided.task_of("dan") is None
    assert count_people([decided]) == {"ann": 1, "bob": 1, "cat": 1}
    assert count_statuses([decided, own]) == {"disputed": 1, "fail": 1}


def test_only_named_people_label_and_decide() -> None:
    named = queue(reviewers=("ann", "bob"), adjudicators=("cat",))
    strangers = item(named, review(1, "dan", "pass"), review(2, "cat", "fail"))
    assert strangers.missing == 2 and strangers.people == ()
    assert [strangers.task_of(person) for person in PEOPLE] == ["label", "label", None, None]
    disputed = item(named, review(1, "ann", "pass"), review(2, "bob", "fail"))
    assert [disputed.task_of(person) for person in PEOPLE] == [None, None, "adjudicate", None]
    usurped = item(
        named, review(1, "ann", "pass"), review(2, "bob", "fail"),
        review(3, "dan", "pass", adjudicates=True),
    )  # fmt: skip
    assert usurped.status == "disputed"


def test_a_blind_queue_counts_blind_labels_alone_and_asks_nobody_who_saw_the_verdict() -> None:
    for blind in (False, None):
        seen = item(queue(1), review(1, "ann", "pass", blind=blind))
        assert seen.status == "waiting"
    assert item(queue(1), review(1, "ann", "pass", blind=False)).task_of("ann") is None
    open_queue = queue(1, blind=False)
    assert item(open_queue, review(1, "ann", "pass", blind=False)).status == "pass"


reviews = st.lists(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(VERDICTS), st.booleans()), max_size=8
)


@settings(max_examples=examples(4))
@given(reviews, st.integers(1, 3))
def test_whoever_the_queue_asks_brings_the_evaluation_on(
    given_reviews: list[tuple[str, ReviewVerdict, bool]], labels_each: int
) -> None:
    history = [
        review(version, person, verdict, adjudicates=adjudicates)
        for version, (person, verdict, adjudicates) in enumerate(given_reviews, 1)
    ]
    own = item(queue(labels_each), *history)
    for person in PEOPLE:
        task = own.task_of(person)
        if task is None:
            continue
        assert person not in own.people and own.places_for(task) >= 1
        after = item(
            queue(labels_each), *history,
            review(len(history) + 1, person, "pass", adjudicates=task == "adjudicate"),
        )  # fmt: skip
        assert after.task_of(person) is None, "nobody is asked twice"
        if task == "adjudicate":
            assert after.status == "pass"
        else:
            assert after.missing == own.missing - 1


def test_the_order_of_labels_changes_nothing() -> None:
    for verdicts in combinations(VERDICTS, 2):
        labels = [("ann", verdicts[0]), ("bob", verdicts[1])]
        statuses = {
            item(queue(), *(review(at, *label) for at, label in enumerate(order, 1))).status
            for order in permutations(labels)
        }
        assert statuses == {"disputed"}
