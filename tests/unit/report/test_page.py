"""The report's page: what a reviewer reads, in order, and never a bare percentage."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from failproof_es.catalogue.audit_questions import AuditAnswer
from failproof_es.core.evaluation import JudgeVerdict, ModelReply
from failproof_es.engine.related_runs.attempts import Attempts, RelatedRun
from failproof_es.engine.reviews.conversation import ConversationTurn
from failproof_es.engine.reviews.disputed_items import Vote
from failproof_es.reading.jury import JudgeFigure
from failproof_es.report.data.content import (
    Comparison,
    Cost,
    Distribution,
    Errors,
    Failed,
    Funnel,
    GateRow,
    GroupRate,
    HeatCell,
    JudgeAgreement,
    JudgeCoverage,
    ListAgreement,
    Measure,
    Provenance,
    RaterDisagreement,
    Refusals,
    Report,
    Skipped,
    Stability,
    UnmetExpectation,
    Verdict,
)
from failproof_es.report.data.transcripts import FailureWithTranscript
from failproof_es.report.formats import markdown
from failproof_es.report.formats.html import pieces
from failproof_es.report.page.blocks import Collapsible, Paragraph, Rest, Table
from failproof_es.report.page.failures import failure_sections
from failproof_es.report.page.heat_maps import heat_maps
from failproof_es.report.page.judges import judges
from failproof_es.report.page.sections import build_page
from failproof_es.support.statistics import OpenInterval, compare_outcomes, rate
from tests.harmless_html import hostile, objections
from tests.unit.report.documents import COUNTS, MOMENT, branched, document

SOME = rate([True] * 30 + [False] * 10)
MORE = rate([True] * 35 + [False] * 5)
NONE = rate([])
NONE_FAILED = rate([True] * 40)
REPORT_MD = Path(__file__).parents[3] / "docs" / "reference" / "report.md"
SEVERITIES = {"S0", "S1", "S2", "S3"}
SECTIONS = [
    "Gates",
    "Comparison",
    "Failures",
    "Rates",
    "Missing scores and errors",
    "Judges and people",
    "Cost and latency",
    "Limitations",
    "What was asked",
    "Integrity",
]


def empty_report() -> Report:
    """A run that planned nothing and did nothing."""
    return Report(
        made_at=MOMENT,
        title="run 1 nothing",
        verdict=Verdict("plain", "Nothing was asked.", ()),
        gates=(),
        asked=(asked("nothing"),),
        funnels=(),
        groups=(),
        measures=(),
        heat=(),
        refusals=(),
        errors=(),
        stability=(),
        judged=(),
        agreement=(),
        disagreements=(),
        calibrations=(),
        probed=(),
        costs=(),
        latencies=(),
        pairings=(),
        comparisons=(),
        limitations=(),
        failures=(),
    )


def other(name: str, number: int, attempt: int | None) -> RelatedRun:
    return RelatedRun(
        UUID(int=number), number, name, MOMENT, "completed", 40, 40, 39, 1, False, attempt, 38
    )


def asked(name: str, **more: Any) -> Provenance:
    """A run's provenance; `more` are facts of its document."""
    facts: dict[str, Any] = {
        "attempts": Attempts("ef" * 32, 1, 2, (other(name, 3, 2),), (other(name, 4, None),)),
        "branched_from": branched(name),
        "counts": COUNTS.model_copy(update={"carried_over": 38}),
    }
    return Provenance(
        run=document(name, **facts | more),
        audit=(
            AuditAnswer(
                question="Which?", answered=True, answer=name, events=(1, 2), commands=(name,)
            ),
        ),
        models_answered=((name, 3),),
        skipped=(),
        gates_set=False,
        positions=(1, 99),
        events=99,
        seal=None,
    )


def disagreement(name: str, case: str = "case-1") -> RaterDisagreement:
    """An item on which judges and people disagree."""
    votes = (
        Vote(by="judges", verdict="happened"),
        Vote(by=f"judge:{name}", verdict="happened", quote=f"quoted {name}"),
        Vote(by="people", verdict="did_not_happen", notes=f"noted {name}"),
    )
    return RaterDisagreement(
        suite=name, case=case, model=name, repetition=1, evaluation_id=UUID(int=1),
        item="must_not_do.1", text=name, votes=votes,
        run_number=1, one=name, other="people", what=name,
    )  # fmt: skip


def full_report(name: str) -> Report:
    """A report of two series that says `name` wherever data can."""
    two = (name, f"{name} two")
    paired = compare_outcomes([(True, False)] * 9 + [(True, True)] * 31)
    return replace(
        empty_report(),
        verdict=Verdict("bad", name, (name,)),
        gates=(
            GateRow(1, "min_accuracy", 0.9, 0.75, False),
            GateRow(1, "max_cost_usd", 1, None, False),
        ),
        asked=(replace(asked(name), gates_set=True, skipped=(Skipped(name, 7, name, name),)),),
        funnels=tuple(Funnel(each, 42, 42, 41, 41, 41, 40, ((name, 2),)) for each in two),
        groups=tuple(
            GroupRate(dimension, group, each, SOME)
            for each in two
            for dimension in ("overall", "category", "tag")
            for group in two
        ),
        measures=(
            Measure(name, name, 40, 0.5, OpenInterval(0.4, 0.6, "order statistics"), "score", 40),
            Measure(name, "latency", 40, 120.0, None, "ms", 40),
        ),
        heat=tuple(
            HeatCell(each, category, severity, 3, 9)
            for each in two
            for category in two
            for severity in ("S0", "S1")
        ),
        refusals=tuple(Refusals(each, 5, 40, SOME, NONE) for each in two),
        judged=(JudgeCoverage(1, f"judge:{name}", 40, 38),),
        errors=(Errors(name, ((name, 3),), 3, ()),),
        stability=(Stability(name, 2, MORE, SOME),),
        agreement=(
            JudgeAgreement(
                name, "people", name, 40, 30, None, None, 3, (ListAgreement(name, 20, 3, 7, 10),)
            ),
        ),
        disagreements=(disagreement(name),),
        costs=(Cost(1, name, 40, 100, 200, 0.25), Cost(1, "free", 1, None, None, None)),
        latencies=(Distribution(name, (10.0, 20.0, 900.0)), Distribution(two[1], ())),
        comparisons=(
            Comparison(*two, "pass rate", paired, 0.004, (name, "case-2"), ("case-3",)),
            Comparison(*two, f"pass rate in {name}", paired, 0.004),
        ),
        limitations=(name,),
        failures=(failed(name), failed(name, fault=f"{name} two")),
    )


def failed(name: str, **more: Any) -> Failed:
    fields: dict[str, Any] = {
        "run_id": UUID(int=1),
        "run_number": 1,
        "evaluation_id": UUID(int=2),
        "prompt_id": UUID(int=3),
        "model_key": name,
        "series": name,
        "suite": name,
        "case": name,
        "category": name,
        "severity": "S0",
        "repetition": 2,
        "class_": name,
        "fault": name,
        "unmet": (UnmetExpectation(name, name),),
        "reason": name,
    }
    return Failed(**fields | more)


def told(name: str) -> FailureWithTranscript:
    spoken = (
        ConversationTurn("user", name),
        ConversationTurn("assistant", name, ModelReply(0, name, "stop")),
    )
    item = {"item": "must_do.1", "verdict": "absent", "quote": name, "void": None}
    verdicts = (
        JudgeVerdict("judge:j", {"why": "so"}),
        JudgeVerdict("judge:k", None, name),
        JudgeVerdict(f"judge:{name}", {"items": [item]}),
    )
    return FailureWithTranscript(failed(name), spoken, {"title": name}, verdicts)


def html_of(report: Report, failures: Iterable[FailureWithTranscript] = ()) -> str:
    return b"".join(pieces(build_page(report, failures))).decode()


@cache
def alpha() -> str:
    """The page of a full report, drawn once for all tests that only read it."""
    return html_of(full_report("alpha"), [told("alpha")])


def text_of(html: str) -> str:
    return " ".join(unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.S)).split())


@pytest.mark.long
def test_the_sections_stand_in_the_order_in_which_a_report_is_read() -> None:
    html = alpha()
    assert re.findall(r"<h2 id=\"\w+\">([^<]*)</h2>", html) == SECTIONS
    assert html.index('class="sentence"') < html.index("<h2")


def test_a_run_that_did_nothing_has_a_page_without_empty_sections() -> None:
    html = html_of(empty_report())
    assert objections(html) == []
    titles = re.findall(r"<h2 id=\"\w+\">([^<]*)</h2>", html)
    assert titles == ["Missing scores and errors", "What was asked", "Integrity"], "a branch"
    assert text_of(html).count("Nothing was asked.") == 1


def test_what_is_asked_of_a_run_is_closed_behind_a_line_and_so_is_every_method() -> None:
    html = alpha()
    closed = re.findall(r"<details class=\"section\">\n<summary>(.*?)</summary>", html)
    assert [text_of(summary) for summary in closed] == [
        "Cost and latency 41 answers, at least $0.2500",
        "What was asked 40 cases, 2 repetitions, 1 model, started 2026-11-21 12:00:00 UTC",
        "Integrity not yet: the run has not ended",
    ]
    for method in ("Wilson", "McNemar", "agreement beyond chance is"):
        assert method.lower() in text_of(html).lower()
        assert method.lower() not in text_of(without_methods(html)).lower()


def test_a_run_of_one_model_in_which_nothing_failed_is_one_screen() -> None:
    groups = [("overall", "all cases"), ("suite", "one"), ("suite", "two")]
    report = replace(
        empty_report(),
        verdict=Verdict("plain", "m passed 40 of 40.", ()),
        groups=tuple(GroupRate(dimension, name, "m", NONE_FAILED) for dimension, name in groups),  # type: ignore[arg-type]
        funnels=(Funnel("m", 40, 40, 40, 40, None, 40, ()),),
        measures=(Measure("m", "latency, 50th percentile", 40, 9.0, None, "ms", 40),),
        refusals=(Refusals("m", 0, 40, rate([False] * 40), NONE),),
        costs=(Cost(1, "m", 40, 100, 200, 0.25),),
        latencies=(Distribution("m", (10.0, 20.0)),),
        limitations=("Every case was asked once.", "The cases are a sample."),
        asked=(asked("m", branched_from=None),),
    )
    html = html_of(report)
    shown = closed(html[html.index("<body>") :])
    assert re.findall(r"<h2 id=\"(\w+)\">", html) == [
        "rates", "cost", "limitations", "asked", "integrity",
    ]  # fmt: skip
    assert "<svg" not in shown and "<table" not in shown and "<nav" not in shown
    assert "Cost and latency 40 answers, $0.2500, median latency 9 ms" in text_of(shown)
    assert len(text_of(shown)) < 1_000, text_of(shown)


def closed(html: str) -> str:
    """What a reader sees of it before anything is opened."""
    fold = re.compile(r"<details[^>]*>\s*<summary>((?:(?!<details).)*?)</summary>"
                      r"(?:(?!<details).)*?</details>", flags=re.S)  # fmt: skip
    while fold.search(html):
        html = fold.sub(r"<p>\1</p>", html)
    return html


def without_methods(html: str) -> str:
    return re.sub(r"<details class=\"method\">.*?</details>", "", html, flags=re.S)


@pytest.mark.parametrize(
    "name",
    [
        *("script", "surrogate"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("attribute", "closing", "template", "bidi")
        ),
    ],
)
@pytest.mark.long
@pytest.mark.thinned(fast=2, whole=3)
def test_hostile_names_add_nothing_wherever_a_report_says_them(name: str) -> None:
    text = hostile()[name]
    assert objections(html_of(full_report(text), [told(text)])) == []


@pytest.mark.long
def test_no_percentage_stands_without_the_counts_it_is_made_of() -> None:
    """In every row of every table and in every paragraph."""
    html = without_methods(re.sub(r"<svg.*?</svg>", "", alpha(), flags=re.S))
    rows = re.findall(r"<tr>.*?</tr>|<p(?: [^>]*)?>.*?</p>|<li>.*?</li>", html, flags=re.S)
    shares = [row for row in rows if "%" in text_of(row) and '<th scope="col"' not in row]
    assert len(shares) > 6
    for row in shares:
        cells = [text_of(cell) for cell in re.findall(r"<td.*?</td>", row, flags=re.S)]
        counted = re.search(r"\d of \d", text_of(row))
        assert counted or sum(cell.replace(",", "").isdigit() for cell in cells) >= 2, cells


def test_every_picture_has_a_table_in_its_section() -> None:
    html = alpha()
    drawn = [part for part in html.split("<section")[1:] if "<svg" in part]
    assert len(drawn) == 4
    assert all("<table>" in part for part in drawn)


def test_a_failure_shows_expectation_and_answer_and_what_was_said_behind_a_fold() -> None:
    html = alpha()
    fold = html[html.index("<details>", html.index("<h3>S0, alpha: 1</h3>")) :]
    said = text_of(fold)
    assert said.startswith("alpha: alpha · alpha · repetition 2 S0 expected alpha got alpha")
    assert 'judge j { "why": "so" }' in said
    assert "judge k: no verdict alpha" in said
    assert "judge alpha item verdict quote must_do.1 did not happen alpha" in said
    assert '<div class="turn reply">' in fold


@pytest.mark.long
def test_failures_are_asked_for_while_the_page_is_written_not_before() -> None:
    read = []

    def failures() -> Iterable[FailureWithTranscript]:
        for number in range(3):
            read.append(number)
            yield told("alpha")

    written = pieces(build_page(full_report("alpha"), failures()))
    next(written)
    assert read == []
    assert sum(piece.count(b"<details>") for piece in written) >= 3
    assert read == [0, 1, 2]


def test_line_breaks_and_hidden_characters_of_an_answer_are_seen_beside_its_expectation() -> None:
    unmet = UnmetExpectation("two lines", "\none\n two \t three\u202e")
    failure = failed("alpha", unmet=(unmet,))
    report = replace(empty_report(), failures=(failure,))
    html = html_of(report, [replace(told("alpha"), failed=failure)])
    assert '<span>one ↵ two three<mark class="unseen">\\u202e</mark></span>' in html


def test_after_twenty_failures_of_a_fault_the_others_are_closed_and_none_is_lost() -> None:
    failed = full_report("alpha").failures[0]
    report = replace(full_report("alpha"), failures=(failed,) * 23)
    blocks = list(failure_sections(report, (told("alpha") for _ in range(23))))
    (rest,) = [block for block in blocks if isinstance(block, Rest)]
    assert sum(isinstance(block, Collapsible) and bool(block.marks) for block in blocks) == 20
    assert rest.summary == "3 more: S0, alpha"
    page = build_page(report, (told("alpha") for _ in range(23)))
    html = b"".join(pieces(page)).decode()
    assert html.count("The case as it stood in its file") == 23
    assert objections(html) == []
    lines = b"".join(markdown.pieces(build_page(report, (told("alpha") for _ in range(23)))))
    assert lines.count(b"The case as it stood in its file") == 23


@pytest.mark.parametrize(
    ("severity", "tone"), [("S1", "bad"), ("critical", "bad"), ("S2", "doubt"), ("odd", "doubt")]
)
def test_a_severity_has_the_tone_of_its_rank(severity: str, tone: str) -> None:
    failure = failed("alpha", severity=severity)
    report = replace(empty_report(), failures=(failure,))
    (fold,) = [
        block
        for block in failure_sections(report, [replace(told("alpha"), failed=failure)])
        if isinstance(block, Collapsible)
    ]
    assert [mark.tone for mark in fold.marks] == [tone]


def test_severities_of_one_rank_have_an_order_in_a_heat_map() -> None:
    words = [f"urgency {n}" for n in range(6)]
    cells = [HeatCell("m", category, word, 1, 2) for category in "ab" for word in (*words, "low")]
    _, fold = heat_maps(replace(full_report("m"), heat=tuple(cells)))
    assert isinstance(fold, Collapsible)
    (table,) = fold.blocks
    assert isinstance(table, Table)
    assert [column.heading for column in table.columns] == ["category", "low", *words]


def test_gates_of_a_run_that_has_not_ended_are_not_said_to_be_missing() -> None:
    going = replace(asked("going", run_number=2, status="running"), gates_set=True)
    both = replace(full_report("alpha"), asked=(*full_report("alpha").asked, going))
    for report in (replace(empty_report(), asked=(going,)), both):
        said = text_of(html_of(replace(report, groups=(), heat=(), comparisons=(), costs=())))
        assert "Gates of run 2: judged when it has completed." in said


def test_a_judge_s_cost_stands_beside_what_it_adds() -> None:
    figure = JudgeFigure(
        judge="judge:alpha", asked=40, verdicts=38, decisive=7, answers=41, cost_usd=0.5,
        possibly_charged=1,
    )  # fmt: skip
    report = replace(
        full_report("alpha"),
        asked=(asked("alpha", jury=(figure,)),),
        costs=(Cost(1, "judge:alpha", 41, 100, 200, 0.5, possibly_charged=1),),
    )
    table = next(iter(judges(report)))
    assert isinstance(table, Table)
    assert [column.heading for column in table.columns[1:]] == [
        "evaluations", "decisive", "answers", "cost",
    ]  # fmt: skip
    assert table.rows == (("judge alpha", "38 of 40", "7", "41", "at least $0.5000"),)


def test_an_agreement_unfolds_its_disagreements_with_the_words_of_both() -> None:
    others = replace(full_report("beta").agreement[0], what="verdicts")
    two = replace(
        full_report("alpha"),
        agreement=(*full_report("alpha").agreement, others),
        disagreements=tuple(disagreement("alpha", case) for case in ("case-1", "case-2")),
    )
    fold, other = (block for block in judges(two) if isinstance(block, Collapsible))
    assert fold.summary == "alpha and people disagree on 10 of 40 alpha"
    table, more = fold.blocks
    assert isinstance(table, Table) and isinstance(more, Paragraph)
    assert [row[0] for row in table.rows] == ["alpha/case-1", "alpha/case-2"]
    assert table.rows[0][-2:] == (
        'judges: happened; judge alpha: happened, "quoted alpha"',
        "people: did not happen, notes: noted alpha",
    )
    assert "8 more: `failproof-es review disagreements 1 --between alpha people" in more.text
    assert isinstance(other.blocks[0], Table) and not other.blocks[0].rows


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    said = text_of(alpha())
    assert "max_cost_usd not met 1 nothing" in said
    assert "free 1 unknown unknown unknown unknown" in said
    assert "seal none: the run has not ended" in said


def test_gates_that_people_decide_wait_for_the_closing_of_the_reviews() -> None:
    ended = replace(asked("ended", run_number=2, status="completed"), gates_set=True)
    said = text_of(html_of(replace(empty_report(), asked=(ended,))))
    assert "people decide them: failproof-es review close 2 judges them" in said.replace("`", "")


def test_every_section_and_every_number_is_defined_in_the_documentation() -> None:
    documented = REPORT_MD.read_text("utf-8")
    sections = documented[documented.index("| section |") : documented.index("## Every number")]
    told_of = re.findall(r"^\| ([A-Z][^|]*) \|", sections, flags=re.M)
    assert told_of == SECTIONS

    numbers = documented[documented.index("## Every number") : documented.index("## Formats")]
    headings = re.findall(r'<th scope="col" class="number">([^<]*)</th>', alpha())
    wanted = {unescape(each).removeprefix("95 % ") for each in headings} - SEVERITIES
    gates = {"limit", "measured"}  # docs/how-to/gates.md has these
    assert wanted > gates
    assert [each for each in sorted(wanted - gates) if each not in numbers] == []
