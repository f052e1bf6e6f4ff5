"""How what was measured is kept, printed and made into the page."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import __main__ as benchmarks
from tests.benchmarks.all import BENCHMARKS
from tests.benchmarks.measured import (
    Benchmark,
    Measure,
    Measured,
    Measurement,
    Row,
    Sizes,
    TargetFigure,
    cell,
    number,
    table,
)
from tools.benchmarks_reference import __main__ as benchmarks_reference

ROOT = Path(__file__).parents[3]
FAST = Row("fast", "how fast", "a second", "With a clock.", TargetFigure(">=", 10))
SMALL = Row("small", "how small", "MB", "By weight.", TargetFigure("<=", 5))
UNTRIED = Row("untried", "how old", "years", "By asking.")
ROWS = [row for benchmark in BENCHMARKS for row in benchmark.rows]
REACH = (
    "evaluations", "whole-command", "cpu-per-evaluation", "memory-10000", "memory-100000",
    "memory-1000000", "plan", "resume", "rebuild", "validation-and-seal", "verify",
    "database-size", "version", "help", "first-request", "shell-posix", "live-cost",
    "reply-8k", "reply-8k-streamed", "reply-256k", "reply-256k-streamed", "connections-500",
)  # fmt: skip


def counted(*versions: str, values: Sequence[float | None] = (12.0, 8.0, 11.0)) -> Measured:
    found = Measured(FAST, "speed")
    for value in values:
        for version in versions:
            found.add(
                version, Measurement("fast", value, 2.0, 1.0, "" if value else "not installed: x")
            )
    return found


def result(
    rows: Sequence[dict[str, Any]], began: str = "2026-11-23", **more: Any
) -> dict[str, Any]:
    return {
        "began": began, "ended": began, "rounds": 3, "commits": {"now": "abc1234"}, "quick": False,
        "system": "Linux", "cores": 2, "python": "3.11", "postgres": "18",
        "load": {"begin": 1.0, "end": 2.0}, "rows": rows, **more,
    }  # fmt: skip


def test_a_row_has_median_spread_and_whether_it_was_reached() -> None:
    document = counted("now").document()
    assert json.loads(json.dumps(document)) == document
    kept = document["measured"]["now"]
    assert (kept["median"], kept["min"], kept["max"], kept["reached"]) == (11.0, 8.0, 12.0, True)
    assert [each["value"] for each in kept["rounds"]] == [12.0, 8.0, 11.0]
    assert cell(document, "now") == "11.0 (8.00-12.0) a second"


@pytest.mark.parametrize(
    ("wanted", "value", "met"),
    [
        (TargetFigure(">=", 10), 10.0, True),
        (TargetFigure(">=", 10), 9.99, False),
        (TargetFigure("<=", 10), 10.0, True),
        (TargetFigure("<=", 10), 10.01, False),
    ],
)
def test_a_wanted_figure_is_met_at_its_edge(wanted: TargetFigure, value: float, met: bool) -> None:
    assert wanted.met(value) is met


def test_what_was_measured_of_less_reaches_nothing() -> None:
    found = Measured(FAST, "speed")
    found.add("now", Measurement("fast", 20.0, comparable=False))
    document = found.document()
    assert document["measured"]["now"]["reached"] is None
    assert cell(document, "now") == "20.0 a second"


def test_a_row_that_was_not_measured_says_why() -> None:
    document = counted("now", values=[None, None]).document()
    assert cell(document, "now") == "not installed: x"
    assert document["measured"]["now"]["reached"] is None
    assert cell(document, "before") == "not measured"


def test_the_table_has_wanted_beside_measured_and_a_column_for_each_version() -> None:
    lines = table([counted("before", "now").document()], ["before", "now"])
    assert lines[0] == "| what | wanted | before | now | processor time | reached |"
    assert lines[2] == (
        "| how fast | >= 10.0 | 11.0 (8.00-12.0) a second | 11.0 (8.00-12.0) a second "
        "| 1.00 s in 2.00 s | yes |"
    )


def test_a_number_has_three_digits_that_mean_something() -> None:
    said = [number(each) for each in (0, 0.0412, 0.434, 7.1, 42.25, 123456.7)]
    assert said == ["0", "0.041", "0.43", "7.10", "42.2", "123,457"]


def fake(calls: list[str], *, fails: bool = False) -> Benchmark:
    @contextmanager
    def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
        def measure() -> Iterator[Measurement]:
            calls.append(python)
            if fails:
                raise RuntimeError("it broke")
            yield Measurement("fast", 1.0)
            yield Measurement("another", 2.0)

        yield measure

    return Benchmark("speed", (FAST,), begin)


def test_versions_are_measured_in_turn() -> None:
    calls: list[str] = []
    versions = {"before": "A", "now": "B"}
    [row] = benchmarks.measured([fake(calls)], versions, Sizes(), 3)
    assert calls == ["A", "B", "A", "B", "A", "B"]
    assert {version: len(taken) for version, taken in row.rounds.items()} == {"before": 3, "now": 3}


def test_a_benchmark_that_fails_says_so_and_the_others_go_on() -> None:
    rows = list(benchmarks.measured([fake([], fails=True), fake([])], {"now": "B"}, Sizes(), 1))
    assert [cell(row.document(), "now") for row in rows] == [
        "failed: RuntimeError: it broke", "1.00 a second",
    ]  # fmt: skip


def test_a_large_benchmark_is_left_out_and_says_so() -> None:
    calls: list[str] = []
    large = Benchmark("speed", (FAST,), fake(calls).begin, large=True)
    [row] = benchmarks.measured([large], {"now": "B"}, Sizes(), 1)
    assert calls == []
    assert cell(row.document(), "now") == "not measured without --large"


def test_rows_are_chosen_by_their_names_and_by_the_benchmark_s() -> None:
    chosen = benchmarks.chosen("verify,starting")
    assert [(each.name, [row.name for row in each.rows]) for each in chosen] == [
        ("log", ["verify"]),
        ("starting", ["version", "help", "python", "runs", "show", "first-request", "start-20"]),
    ]
    with pytest.raises(SystemExit, match="no such row: nonsense"):
        benchmarks.chosen("verify,nonsense")


def test_every_row_of_the_issue_is_there_once() -> None:
    names = [row.name for row in ROWS]
    assert sorted(set(names)) == sorted(names)
    assert [name for name in REACH if name not in names] == []


def test_the_page_shows_the_newest_measurement_of_each_row() -> None:
    old = result([counted("now", values=[5.0]).document()], "2026-11-22")
    new = result([counted("now", values=[20.0]).document()], "2026-11-23")
    small = Measured(SMALL, "weight")
    small.add("now", Measurement("small", 7.0))
    page = benchmarks_reference.reference(
        [result([small.document()], "2026-11-21"), old, new],
        "<!-- cell fast -->\n<!-- sittings -->\n<!-- wanted -->\n<!-- missed -->\n<!-- others -->",
        {"small": "It takes\na lighter box."},
        [Benchmark("both", (FAST, SMALL, UNTRIED), fake([]).begin)],
    )
    assert page.startswith("20.0 a second\n")
    assert "Not measured" not in page  # nothing is wanted of it
    assert "| how old | - | not measured | - | - |" in page
    assert "| how fast | >= 10.0 | 20.0 a second |" in page
    assert "5.00" not in page.replace("<= 5.00", "")
    assert "- **how small**: 7.00 MB, wanted <= 5.00. It takes a lighter box." in page
    assert "2026-11-22" not in page  # nothing was taken from there
    assert page.count("abc1234") == 2


def test_a_smaller_measurement_replaces_none_of_the_size_that_the_target_is_about() -> None:
    whole = counted("now", values=[20.0]).document()
    part = Measured(FAST, "speed")
    part.add("now", Measurement("fast", 90.0, comparable=False))
    kept = [result([whole], "2026-11-22"), result([part.document()], "2026-11-23")]
    both = [Benchmark("both", (FAST,), fake([]).begin)]
    assert benchmarks_reference.reference(kept, "<!-- cell fast -->", {}, both) == "20.0 a second"
    kept.reverse()
    assert benchmarks_reference.reference(kept, "<!-- cell fast -->", {}, both) == "20.0 a second"


def test_a_kept_row_is_held_against_the_target_of_today() -> None:
    kept = [result([counted("now", values=[20.0]).document()])]
    harder = dataclasses.replace(FAST, wanted=TargetFigure(">=", 30))
    both = [Benchmark("both", (harder,), fake([]).begin)]
    page = benchmarks_reference.reference(kept, "<!-- wanted -->", {}, both)
    assert (
        page.splitlines()[-1]
        == "| how fast | >= 30.0 | 20.0 a second | 1.00 s in 2.00 s | **no** |"
    )


def test_the_page_names_the_rows_that_were_not_measured_but_are_wanted() -> None:
    both = [Benchmark("both", (FAST, SMALL, UNTRIED), fake([]).begin)]
    missing = counted("now", values=[None]).document()
    page = benchmarks_reference.reference([result([missing])], "<!-- missed -->", {}, both)
    assert page == "- Not measured: `fast`, `small`."


def test_the_page_takes_no_numbers_that_mean_nothing() -> None:
    with pytest.raises(SystemExit, match="--quick"):
        benchmarks_reference.reference([result([], quick=True)], "", {})


def test_the_page_has_every_row() -> None:
    page = (ROOT / "docs" / "reference" / "benchmarks.md").read_text(encoding="utf-8")
    missing = [row.name for row in ROWS if f"`{row.name}`: {row.what}" not in page]
    assert missing == []


def test_remarks_are_on_rows_that_exist() -> None:
    remarks = tomllib.loads((benchmarks_reference.HERE / "remarks.toml").read_text("utf-8"))
    assert remarks.keys() <= {row.name for row in ROWS}
