"""An item with different or void votes of judges and people, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from failproof_es.catalogue.wording import judge_named
from failproof_es.cli.rendering.sanitise import one_line
from failproof_es.engine.reviews.disputed_items import DisputedItem
from failproof_es.events.line import describe_verdict


def disputed_lines(item: DisputedItem) -> Iterator[str]:
    """The item, and below it a line for each vote; safe to print."""
    where = f"{item.suite}/{item.case} {item.model}"
    again = "" if item.repetition == 1 else f" {item.repetition}"
    text = "" if item.text is None else f": {item.text}"
    yield one_line(f"{where}{again}  {item.item}{text}")
    for vote in item.votes:
        verdict = "no verdict" if vote.verdict is None else describe_verdict(vote.verdict)
        severity = f", {vote.severity}" if vote.severity else ""
        words = (
            f', "{vote.quote}"' if vote.quote else f", notes: {vote.notes}" if vote.notes else ""
        )
        void = f" (does not count: {vote.void})" if vote.void else ""
        yield one_line(f"  {judge_named(vote.by)}: {verdict}{severity}{words}{void}")
