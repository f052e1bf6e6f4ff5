"""What two runs were asked alike is compared, but nothing that other versions graded."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
import pytest

from failproof_es.dialects.shipped.failproof import scorer
from failproof_es.reading.overviews.compared_runs import ComparedRuns
from failproof_es.reading.overviews.run_comparison import Side
from failproof_es.report.data.builder import build_report
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke

CASES = 6
REGRESSION = {"no_regression_against": 1, "regression_margin": 1.0}
"""A margin so wide that few cases can tell."""
WHY = "graded otherwise, by other versions"


class Repeats:
    """Says back what it is asked."""

    def __init__(self, api_key: str | None, model_id: str) -> None:
        """Nothing to keep."""

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        return prompt


def started(store: Store, folder: Path, note: str = "", **sections: Any) -> int:
    cases = [
        {"case_id": f"{n}", "suite_id": "s", "prompt": f"Say {n}", "tags": [note],
         "expected_response": f"Say {n}"}
        for n in range(CASES)
    ]  # fmt: skip
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    model = {"provider": "python", "class": f"{__name__}:Repeats", "model": "m"}
    document = {
        "test_run": {"name": "versions"},
        "models": [model],
        "prompts": {"path": "suite.jsonl", "dialect": "failproof"},
        **sections,
    }
    (folder / "run.yaml").write_bytes(orjson.dumps(document))
    return invoke(store.url, "start", "run.yaml", "--quiet", cwd=folder).exit_code


def test_scores_of_other_versions_are_never_compared_silently(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = scorer.VERSION
    monkeypatch.setattr(scorer, "VERSION", "old")
    assert started(store, tmp_path) == 0
    assert started(store, tmp_path, gates=REGRESSION) == 0
    monkeypatch.setattr(scorer, "VERSION", now)
    assert started(store, tmp_path, gates=REGRESSION) == 3

    with store.connect() as connection:
        runs = [resolve_run(connection, each) for each in ("1", "2", "3")]
        (row,) = find(connection, run_id=runs[2], topics=["RunCompleted"])
        (gate,) = row.payload()["gates"].values()
        assert not gate["met"] and gate["why"].startswith(f"cannot tell: {CASES} evaluations")
        assert f"failproof.accuracy {now}, before old" in gate["why"]
        report = build_report(connection, [runs[0], runs[2]])
        (compared,) = report.pairings
        assert compared.pairs == 0 and report.comparisons == ()
        assert [(each.why, each.first) for each in compared.unpaired] == [(WHY, CASES)]
        assert any("were not graded alike" in each for each in report.limitations)
        assert _on_a_page(connection, runs[0], runs[2]) == (0, [(WHY, CASES)])
        assert _on_a_page(connection, runs[0], runs[1]) == (CASES, [])

    document = orjson.loads(invoke(store.url, "diff", "1", "3", "--json", cwd=tmp_path).stdout)
    assert document["grading"] == [
        {"model": "m", "grader": "failproof.accuracy", "left": "old", "right": now}
    ]
    (result,) = document["results"]
    assert result["pairs"] == 0 and document["changed"] == []
    assert result["unpaired"] == [{"why": WHY, "left": CASES, "right": CASES}]
    shown = invoke(store.url, "diff", "1", "3", cwd=tmp_path).stdout
    assert "graded otherwise, and so not compared" in shown
    same = orjson.loads(invoke(store.url, "diff", "1", "2", "--json", cwd=tmp_path).stdout)
    assert same["grading"] == [] and same["results"][0]["pairs"] == CASES

    told = invoke(store.url, "replay", "1", cwd=tmp_path)
    assert told.exit_code == 0
    assert f"{CASES} evaluations by failproof.accuracy old on record, by {now} now" in told.stdout
    (other,) = orjson.loads(invoke(store.url, "replay", "1", "--json", cwd=tmp_path).stdout)[
        "other_versions"
    ]
    assert other == {
        "grader": "failproof.accuracy", "recorded": "old", "derived": now, "evaluations": CASES,
    }  # fmt: skip
    assert "graded otherwise" not in invoke(store.url, "replay", "3", cwd=tmp_path).stdout


def _on_a_page(connection: Any, base: UUID, other: UUID) -> tuple[int, list[tuple[str, int]]]:
    compared = ComparedRuns(connection, base, other)
    sides = [(Side(base, "m", 1), Side(other, "m", 1))]
    (counts,) = compared.compare(sides, "all", limit=50).counts
    with connection.transaction():
        assert len(list(compared.pairs(*sides[0], "all"))) == counts.pairs
    return counts.pairs, [(each.why, each.first) for each in counts.unpaired]


class Forgets(Repeats):
    """Says nothing of what it is asked."""

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        return "no idea"


def test_what_changed_is_listed_however_many_cases_one_run_planned_alone(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cases with other notes are the same questions; a page of the console looks into few."""
    defaults = ComparedRuns.__init__.__kwdefaults__ or {}
    monkeypatch.setitem(defaults, "most_read", CASES - 1)
    for note, name in (("one", "Repeats"), ("two", "Forgets")):
        model = {"provider": "python", "class": f"{__name__}:{name}", "model": "m"}
        assert started(store, tmp_path, note, models=[model]) == 0
    with store.connect() as connection:
        runs = [resolve_run(connection, run) for run in ("1", "2")]
        assert not ComparedRuns(connection, *runs).looked_into
    document = orjson.loads(invoke(store.url, "diff", 1, 2, "--json", cwd=tmp_path).stdout)
    assert document["results"][0]["pairs"] == CASES == len(document["changed"])
