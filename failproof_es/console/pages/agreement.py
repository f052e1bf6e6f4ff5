"""`/runs/{run}/agreement`: who agrees with whom on a run's evaluations, and on what not."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from failproof_es.console.page import Page, PageModel, PageRequest
from failproof_es.console.paging import Query
from failproof_es.report.data.content import JudgeAgreement, RaterDisagreement
from failproof_es.report.data.judge_agreement import agreements, listing_command

MOST_READ = 1_000
"""Most planned evaluations for which the page reads all their events."""


class AgreementQuery(Query):
    """The two raters whose disagreements are shown."""

    one: str | None = Field(None, max_length=500, description="The first rater, as listed.")
    other: str | None = Field(None, max_length=500, description="The second rater.")
    on: Literal["items", "verdicts", ""] | None = Field(
        None, description="Disagreements on items or on whole evaluations."
    )

    def chooses(self, raters: JudgeAgreement | RaterDisagreement) -> bool:
        """Whether these two raters are chosen."""
        return (self.one, self.other, self.on) == (raters.one, raters.other, raters.what)


class AgreementPage(PageModel):
    """The agreement of judges, checks and people, and what two of them disagree on."""

    run_number: int
    name: str
    status: str
    unread: bool
    """Whether the run has too many evaluations for this page: `review status` has the numbers."""
    raters: tuple[JudgeAgreement, ...]
    chosen: JudgeAgreement | None
    command: str | None
    """The command that lists all that the chosen two disagree on."""
    disagreements: tuple[RaterDisagreement, ...]
    """What the chosen two disagree on, at most 100."""


def read_agreement(request: PageRequest[AgreementQuery]) -> AgreementPage:
    """The agreement on the run that the path names."""
    run, query = request.run(), request.query
    unread = run.started.planned_evaluations > MOST_READ
    raters, disagreements = ((), ()) if unread else agreements(request.connection, [run])
    chosen = next(filter(query.chooses, raters), None)
    return AgreementPage.copy_of(
        run.started,
        run,
        as_of=request.as_of,
        unread=unread,
        raters=raters,
        chosen=chosen,
        command=None if chosen is None else listing_command(run.started.run_number, chosen),
        disagreements=tuple(filter(query.chooses, disagreements)),
    )


PAGE = Page(
    name="agreement",
    path="/runs/{run}/agreement",
    word="Agreement",
    says="How far judges, checks and people agree on a run, and what two of them disagree on.",
    read=read_agreement,
)
