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
"""Most models whose rates are among the first numbers; else these link to the table of models."""


MOST_READ = 5_000
"""Most planned evaluations for which the page shows numbers that read each of them."""
MOST_LIVE_SUITES = 200
"""Most rows of suites that are updated live. A page with more says that they are not."""


class RunPage(RunDocument, PageModel):
    """The document of a run, and what its page alone needs."""

    shape: str = Field(exclude=True)
    """Fingerprint of the page's rows and columns; numbers alone do not change it."""

    @property
    def class_names(self) -> tuple[str, ...]:
        """Classes that occur, in the order of tables."""
        return tuple(in_order(sum((Counter(model.classes) for model in self.by_model), Counter())))

    @property
    def gates_told(self) -> Iterator[tuple[bool, str]]:
        """For each gate, whether it is met, and its description."""
        for name, gate in self.gates.items():
            yield gate["met"], describe_gate(name, gate)

    @property
    def cost_note(self) -> str:
        """The known part of the cost; empty where all of it is known."""
        return cost_note(self.spending)

    @property
    def suites_live(self) -> bool:
        """Whether the rows of suites are updated live."""
        return len(self.by_suite) <= MOST_LIVE_SUITES

    @property
    def rates_apart(self) -> bool:
        """Whether the rate of each model is among the first numbers."""
        return len(self.by_model) <= MOST_APART


def cost_note(spending: Spending) -> str:
    """The known part of the cost; empty where all of it is known."""
    if spending.cost_usd is not None:
        return ""
    known_cost = f"{usd(spending.known_usd)} known" if spending.known_usd else ""
    missing = f"unpriced: {spending.unpriced_answers:,}" if spending.unpriced_answers else ""
    return ", ".join(filter(None, (known_cost, missing)))
