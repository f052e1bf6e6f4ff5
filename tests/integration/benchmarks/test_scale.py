"""The curve of a run as it grows: how it is printed, and the page that is made of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest

from tests.benchmarks.scale.__main__ import table
from tests.benchmarks.scale.curve import Curve
from tests.benchmarks.scale.sampling import kind_of
from tools.benchmarks_reference import scale

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "scale.md"
MEASURED = Curve(
    1_000,
    4,
    first_rate=80.0,
    second_rate=100.0,
    events=5_120,
    database_bytes=7_500_000,
    peaks_mb={"worker": 90.0},
    cpu_s={"worker": 2.0},
)
SITTING = {
    "began": "2026-11-23T08:00:00+00:00",
    "ended": "2026-11-23T09:00:00+00:00",
    "cores": 2,
    "python": "3.11.7",
    "commit": "abc",
    "load": 1.0,
    "load_end": 2.0,
    "connections": 100,
    "latency_ms": 50.0,
    "curves": [asdict(MEASURED), asdict(Curve(10_000, 4))],
}


def test_the_page_is_what_the_generator_prints() -> None:
    command = "python -m tools.benchmarks_reference.scale > docs/concepts/scale.md"
    assert PAGE.read_text("utf-8") == scale.reference(), f"write it anew: {command}"


def test_a_size_has_a_column_and_says_what_was_not_measured() -> None:
    lines = table([asdict(MEASURED), asdict(Curve(10_000, 4))])
    assert lines[0] == "| evaluations | 1,000 | 10,000 |"
    assert "| rate until the last score | 100/s | - |" in lines
    assert "| database, for an evaluation | 7,500 bytes | - |" in lines
    assert "| peak memory: worker | 90.0 MB | - |" in lines
    assert "| processor time for an evaluation: worker | 2.00 ms | - |" in lines


def test_what_is_on_paper_is_multiplied_from_the_largest_run_that_ended() -> None:
    said = scale.page([SITTING], 10_000.0, "<!-- paper -->")
    assert "By the run of 1,000: 5.12 events and 7,500 bytes an evaluation" in said
    assert "So 1,000,000,000 evaluations are 5.12 billion events and 7,500 GB." in said
    assert "They take 116 days at that rate." in said
    assert "One append, at 10,000 events/s, takes 5.93 days for them." in said


def test_a_busy_machine_s_times_are_not_told() -> None:
    busy = {**SITTING, "load": 12.0}
    said = scale.page([busy], 10_000.0, "<!-- sittings -->\n<!-- curves -->\n<!-- paper -->")
    assert "no times are told" in said
    assert "| rate until the last score | machine busy | machine busy |" in said
    assert "| peak memory: worker | 90.0 MB | - |" in said
    assert "5.12 events and 7,500 bytes an evaluation." in said
    assert "at that rate" not in said
    assert "at that rate" in scale.page([SITTING], 10_000.0, "<!-- paper -->")


def test_nothing_is_made_up_where_nothing_was_measured() -> None:
    empty = scale.page([], None, "<!-- sittings -->|<!-- curves -->|<!-- paper -->")
    assert empty == "Not measured yet.|Not measured yet.|Not measured yet."


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("python -m failproof_es.cli worker --run 1", "worker"),
        ("python -m failproof_es.cli start run.yaml --workers 4", "command"),
        ("python -m failproof_es.cli resume 1 --workers 4", "command"),
        ("python -P -m projections.follower", "projections"),
        ("python -m http.server", "other"),
    ],
)
def test_a_process_is_known_by_how_it_was_called(command: str, kind: str) -> None:
    assert kind_of(command.split()) == kind
