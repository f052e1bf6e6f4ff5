"""Shows cases that changed between two runs: both questions and expectations, and the answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from failproof_es.cli.rendering.output import columns_of_keys, print_table
from failproof_es.cli.rendering.result_texts import first_line
from failproof_es.engine.related_runs.differences import (
    CaseDifferences,
    ChangedCase,
    UnmatchedCase,
)
from failproof_es.reading.changed_cases import CaseAnswer, CaseChange, CaseSide
from failproof_es.support.class_words import class_word
from failproof_es.support.plurals import plural

LONGEST_ANSWER = 100_000
"""Maximum characters of an answer that are read; a longer answer is marked as cut."""
_CASES = columns_of_keys("suite", "case", "what", "left", "right")
_SIDES = ("left", "right")


class ShownCases:
    """The differences of two runs' cases. `changes` are the changed cases that were read."""

    def __init__(self, cases: CaseDifferences, changes: Iterable[CaseChange]) -> None:
        self._cases = cases
        self._changes = {(change.case.left, change.case.right): change for change in changes}

    def describe(self) -> str:
        """The number of different cases, in words."""
        cases = self._cases
        counts = {
            "the same": cases.same,
            "changed": len(cases.changed),
            "only left": len(cases.only_left),
            "only right": len(cases.only_right),
        }
        return ", ".join(f"{n:,} {what}" for what, n in counts.items() if n) or "none"

    def document(self) -> dict[str, Any]:
        """All of them as one object for JSON."""
        changed = []
        for case in self._cases.changed:
            change = self._changes.get((case.left, case.right))
            changed.append(asdict(case) | ({} if change is None else change_as_json(change)))
        return asdict(self._cases) | {"changed": changed}

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each case that is not the same, with its digests."""
        for case in self._cases.changed:
            yield _row(case, f"{case.differs} differs", left=case.left, right=case.right)
        for one in self._cases.only_left:
            yield _row(one, "only left", left=one.digest)
        for one in self._cases.only_right:
            yield _row(one, "only right", right=one.digest)

    def print(self) -> None:
        """Print the rows as a table, each with its differences and both answers below."""
        if rows := list(self.rows()):
            print_table(
                map(self._for_people, rows),
                _CASES,
                title="cases",
                details=lambda row: row["details"],
            )

    def _for_people(self, row: dict[str, Any]) -> dict[str, Any]:
        """The row with the differences in words, or with digests of 12 characters."""
        change = self._changes.get((row["left"], row["right"]))
        if change is not None:
            return row | {"left": None, "right": None, "details": list(change_details(change))}
        digests = {side: row[side] and row[side][:12] for side in _SIDES}
        return row | digests | {"details": []}


def _row(
    case: ChangedCase | UnmatchedCase,
    what: str,
    *,
    left: str | None = None,
    right: str | None = None,
) -> dict[str, Any]:
    return {"suite": case.suite, "case": case.case, "what": what, "left": left, "right": right}


def change_as_json(change: CaseChange) -> dict[str, Any]:
    """The case's expectations in each run, and its answers there."""
    sides = {"left": change.left, "right": change.right}
    return {f"{side}_expected": list(of_side.expected) for side, of_side in sides.items()} | {
        f"{side}_answers": [_answer_as_json(answer) for answer in of_side.answers]
        for side, of_side in sides.items()
    }


def _answer_as_json(answer: CaseAnswer) -> dict[str, Any]:
    text = answer.answer
    return {
        "model": answer.model,
        "repetition": answer.repetition,
        "class": answer.class_,
        "answer": text and text[:LONGEST_ANSWER],
        "cut": text is not None and len(text) > LONGEST_ANSWER,
    }


def change_details(change: CaseChange) -> Iterator[tuple[str, str]]:
    """(label, text) of the differences, then of the first answer of each model in each run."""
    left, right = change.left, change.right
    if left.asked != right.asked:
        yield "left asks", "\n".join(left.asked)
        yield "right asks", "\n".join(right.asked)
    if left.expected != right.expected:
        one, other = ("; ".join(side.expected) or "nothing" for side in (left, right))
        yield "expected", f"{one} → {other}"
    for name, side in (("left", left), ("right", right)):
        yield from _answers(name, side)


def _answers(name: str, side: CaseSide) -> Iterator[tuple[str, str]]:
    several = len({answer.model for answer in side.answers}) > 1
    for answer in side.answers:
        if answer.repetition == 1:
            label = f"{name} {answer.model}" if several else name
            yield label, f"{class_word(answer.class_ or '-')}: {first_line(answer.answer or '')}"


def facts_asked_once(
    runs: Sequence[int], alone: Iterable[tuple[int, int]]
) -> Iterator[tuple[str, str]]:
    """Facts on evaluations that one run alone asked: no pair shows whether they changed.

    `runs` are the numbers of both runs, `alone` the counts on each side, by model.
    """
    left, right = map(sum, zip((0, 0), *alone, strict=True))
    if left:
        unknown = (
            f"{plural(left, 'evaluation')} of run {runs[0]}: whether they got worse is unknown"
        )
        remedy = f"`failproof-es start CONFIG --reuse {runs[0]}` asks all that has changed, and"
        yield "not asked again", f"{unknown}. {remedy} carries over the rest"
    if right:
        yield "asked for the first time", f"{plural(right, 'evaluation')} of run {runs[1]}"
