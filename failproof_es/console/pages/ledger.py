"""`/ledger`: whether the log is intact, as far as that is known, and how to verify it again."""

from __future__ import annotations

from failproof_es.assurance.ledger_status import LedgerStatus, ledger_status
from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import PagedQuery, integer


class LedgerPage(PageModel):
    """Status of the ledger. Nothing is verified for this page."""

    ledger: LedgerStatus
    events: int
    """All events of the log. Like the next two an upper bound, unless `ledger.counted`."""
    not_signed: int
    """Number of last events that no valid checkpoint signs."""
    not_anchored: int
    """Number of last events that no checkpoint kept outside signs."""
    commands: dict[str, str]
    """Tasks, and the command for each."""


def read_ledger(request: PageRequest[PagedQuery]) -> LedgerPage:
    """The present status of the ledger."""
    (before,) = request.query.begin(integer) or (None,)
    status = ledger_status(request.connection, most=request.query.limit, before=before)
    return LedgerPage(
        as_of=request.as_of,
        ledger=status,
        events=status.events,
        not_signed=status.not_signed,
        not_anchored=status.not_anchored,
        commands={
            "Verify all of it": "failproof-es verify",
            "Verify what is new": "failproof-es verify --incremental",
            "Sign what is not signed": "failproof-es ledger checkpoint",
            "Check it against a checkpoint kept elsewhere": "failproof-es ledger watch FILE",
            "Print the public key for others": "failproof-es ledger key",
        },
    )


PAGE = Page(
    name="ledger",
    path="/ledger",
    says="How far the log is signed, cosigned and anchored, and when it was last verified.",
    read=read_ledger,
)
