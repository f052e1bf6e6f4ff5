"""Prints the items with different or void votes of judges and people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import click

from failproof_es.catalogue.wording import describe_vote
from failproof_es.cli.rendering.output import Format, print_json, say
from failproof_es.engine.reviews.comparison import RaterChoice, rating_pairs
from failproof_es.engine.reviews.disputed_items import DisputedItem, disagreement, disputed_items
from failproof_es.engine.reviews.people import ReviewedEvaluation, finished_evaluations
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.support.plurals import plural
from failproof_es.support.untrusted_text import one_line


@dataclass
class Disagreements:
    """Counts of the evaluations whose disputed items were printed."""

    between: RaterChoice | None = None
    """Two raters whose disagreements alone are listed."""
    compared: int = 0
    """Number of items and evaluations on which both have a vote."""
    reviewed: Counter[str] = field(default_factory=Counter)
    """Number of evaluations by reviewer."""
    finished: int = 0
    disputed: int = 0
    void: int = 0

    def add(self, recorded: RecordedRun, output_format: Format, *, is_only: bool) -> None:
        """Print the disputed items of a run, under a heading unless it `is_only`."""
        number = recorded.started.run_number
        heading = [] if is_only else [one_line(f"run {number} {recorded.started.name}")]
        for evaluation in finished_evaluations(recorded.connection, recorded.evaluations()):
            self.finished += 1
            self.reviewed.update(list(evaluation.latest()))
            for item in self.items_of(evaluation):
                self.disputed += item.is_disputed
                self.void += item.void_votes
                if output_format is Format.TABLE:
                    for line in (*heading, *disputed_lines(item)):
                        click.echo(line)
                    heading = []
                else:
                    document = item.model_dump(mode="json")
                    print_json({"run_number": number, **document}, indent=False)

    def items_of(self, evaluation: ReviewedEvaluation) -> Iterator[DisputedItem]:
        """The items of the evaluation that are to be listed."""
        if self.between is None:
            yield from disputed_items(evaluation)
            return
        for pair in rating_pairs(evaluation):
            if self.between.includes(pair.between):
                self.compared += None not in (pair.one, pair.other)
                if pair.is_disagreement:
                    yield disagreement(evaluation, pair)

    def say_totals(self) -> None:
        """Say on stderr how many evaluations each reviewer reviewed, and how many items differ."""
        if self.between is not None:
            raters = " and ".join(sorted(self.between.raters))
            say(one_line(f"{raters}: {self.disputed:,} of {plural(self.compared, 'pair')} differ"))
            return
        evaluations = plural(self.finished, "evaluation")
        for reviewer, count in sorted(self.reviewed.items()):
            say(one_line(f"{reviewer} reviewed {count:,} of {evaluations}"))
        if not self.reviewed:
            say(f"nobody reviewed any of {evaluations}")
        items = plural(self.disputed, "item")
        say(f"{items} with different verdicts, {plural(self.void, 'void vote')}")


def disputed_lines(item: DisputedItem) -> Iterator[str]:
    """The item, and below it a line for each vote; safe to print."""
    where = f"{item.suite}/{item.case} {item.model}"
    again = "" if item.repetition == 1 else f" {item.repetition}"
    text = "" if item.text is None else f": {item.text}"
    yield one_line(f"{where}{again}  {item.item}{text}")
    for vote in item.votes:
        yield one_line(f"  {describe_vote(vote)}")
