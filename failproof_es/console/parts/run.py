"""What the page of a run shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pydantic import Field

from failproof_es.catalogue.run import RunDocument, Spending
from failproof_es.catalogue.run_numbers import in_order
from failproof_es.catalogue.wording import usd
from failproof_es.console.page import PageModel
from failproof_es.gates import describe_gate

MOST_APART = 3
"""Of so many models the first numbers of the page tell each one's rate; of more that of all."""


MOST_READ = 5_000
"""Evaluations of a run up to which its page shows what reads each of them."""
MOST_LIVE_SUITES = 200
"""Rows of suites that are kept current while one looks. A page with more says that they are not."""


class RunPage(RunDocument, PageModel):
    """The document of a run, and what its page alone needs."""

    shape: str = Field(exclude=True)
    """Changes where the page gets other rows or columns; numbers alone leave it."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Classes that occur, in the order of tables."""
        return tuple(in_order(sum((Counter(model.classes) for model in self.by_model), Counter())))

    @property
    def gates_told(self) -> Iterator[tuple[bool, str]]:
        """Of each gate whether it is met, and what it says."""
        for name, gate in self.gates.items():
            yield gate["met"], describe_gate(name, gate)

    @property
    def cost_note(self) -> str:
        """What of the cost is known, where not all of it is."""
        return cost_note(self.spending)

    @property
    def suites_live(self) -> bool:
        """Whether the rows of suites are kept current."""
        return len(self.by_suite) <= MOST_LIVE_SUITES

    @property
    def rates_apart(self) -> bool:
        """Whether the first numbers tell each model's rate."""
        return len(self.by_model) <= MOST_APART


def cost_note(spending: Spending) -> str:
    """What of the cost is known, where not all of it is."""
    if spending.cost_usd is not None:
        return ""
    known_cost = f"{usd(spending.known_usd)} known" if spending.known_usd else ""
    missing = f"unpriced: {spending.unpriced_answers:,}" if spending.unpriced_answers else ""
    return ", ".join(filter(None, (known_cost, missing)))
