"""The generated pages of the reference are what their generators print, and say every field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from failproof_es.events import EVENTS, Event
from failproof_es.problem_codes import CODES
from tests.every import every
from tools import (
    events_reference,
    problems_reference,
    relations_reference,
    report_reference,
    run_reference,
)
from tools.benchmarks_reference import __main__ as benchmarks_reference
from tools.schema_tables import documented_fields

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"

PAGES: dict[str, tuple[str, Callable[[], str]]] = {
    "events.md": ("tools.events_reference", events_reference.reference),
    "report-json.md": ("tools.report_reference", report_reference.reference),
    "problems.md": ("tools.problems_reference", problems_reference.reference),
    "relations.md": ("tools.relations_reference", relations_reference.reference),
    "run-document.md": ("tools.run_reference", run_reference.reference),
    "benchmarks.md": (
        "tools.benchmarks_reference",
        lambda: benchmarks_reference.page(benchmarks_reference.committed()),
    ),
}


@pytest.mark.long
@every("page", list(PAGES))
def test_the_committed_page_is_what_the_generator_prints(page: str) -> None:
    module, reference = PAGES[page]
    command = f"python -m {module} > docs/reference/{page}"
    assert (REFERENCE / page).read_text("utf-8") == reference(), f"write it anew: {command}"


@every("kind", EVENTS.values())
def test_every_field_of_every_event_is_on_the_page(kind: type[Event]) -> None:
    section = (REFERENCE / "events.md").read_text("utf-8").split(f"\n### {kind.__name__}\n")[1]
    section = section.split("\n##")[0]
    for field in kind.model_fields.keys() - Event.model_fields.keys():
        assert f"| `{field}` |" in section


@every("kind", EVENTS.values())
def test_every_measured_number_says_its_unit(kind: type[Event]) -> None:
    said = documented_fields(kind)
    for field, about in kind.model_fields.items():
        if about.annotation in (float, float | None):
            assert said.get(field) or events_reference.unit(field), field


@pytest.mark.long
def test_every_code_of_a_problem_has_a_meaning_and_every_meaning_a_code() -> None:
    assert problems_reference.codes().keys() == CODES.keys() and list(CODES) == sorted(CODES)
    for code in CODES:
        assert problems_reference.CODE.fullmatch(code), code
