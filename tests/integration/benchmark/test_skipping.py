"""Defective tasks: nothing is sent, or the rest runs and every defect is on record."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.abstraction.enums import TaskStatus
from failproof_es.abstraction.opened import open_benchmark
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.engine.drive_outcome import Outcome
from failproof_es.engine.lifecycle import start
from failproof_es.engine.replays.replay import replay
from failproof_es.events import CaseSkipped, CasesPlanned
from failproof_es.problems import InvalidInput
from failproof_es.report.data.builder import build_report
from failproof_es.report.page.blocks import Table
from failproof_es.report.page.counts import missing_scores
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.integration.benchmark.conftest import Configured, Server, task


def run(loaded: LoadedConfiguration, store: Store) -> tuple[Outcome, list[str]]:
    """The outcome, and what was said of the files."""
    said: list[str] = []

    async def started() -> Outcome:
        return await start(
            loaded, store, observe=lambda _: None, stop=asyncio.Event(), say=said.append
        )

    return asyncio.run(started()), said


def with_defects(folder: Path) -> None:
    """A misplaced key, and an id that another file has."""
    misplaced = task("misplaced", "Where?")
    misplaced["expected_answer"]["incorrect_direction"] = misplaced.pop("incorrect_direction")
    (folder / "2b.yaml").write_bytes(orjson.dumps([misplaced]))
    twice: dict[str, Any] = task("task-1", "Another question under the same id?")
    (folder / "9.yaml").write_bytes(orjson.dumps([twice, task("after", "And after it?")]))


def test_by_default_every_defect_is_reported_and_nothing_is_sent(
    configured: Configured, store: Store, server: Server, tmp_path: Path
) -> None:
    loaded = configured()
    with_defects(tmp_path / "tasks")
    with pytest.raises(InvalidInput) as caught:
        run(loaded, store)
    assert [(p.path and p.path.name, p.line, p.field) for p in caught.value.problems] == [
        ("2b.yaml", 1, "[0].expected_answer.incorrect_direction"),
        ("9.yaml", 1, "[0].task_id"),
    ]
    assert server.order() == []
    with store.connect() as connection:
        assert list(find(connection, topics=("RunStarted", "RequestSent"))) == []


def test_skipping_runs_the_rest_and_records_each_defect_beside_the_plan(
    configured: Configured, store: Store, server: Server, tmp_path: Path
) -> None:
    path = str(tmp_path / "tasks")
    loaded = configured(prompts={"path": path, "dialect": "benchmark", "on_invalid": "skip"})
    with_defects(tmp_path / "tasks")
    outcome, said = run(loaded, store)
    assert (outcome.status, outcome.counts.scored) == ("completed", 8)
    at = said.index("skipped: 2 cases with 2 defects")
    assert [line.split(":")[0].rpartition("/")[2] for line in said[at + 1 :]] == (
        ["2b.yaml", "9.yaml"]
    )
    with store.connect() as connection:
        events = [row.event() for row in find(connection, run_id=outcome.run_id)]
    (plan,) = [event for event in events if isinstance(event, CasesPlanned)]
    assert len(plan.digests) == 4
    skipped = [event for event in events if isinstance(event, CaseSkipped)]
    assert [(Path(each.path).name, each.line, each.field) for each in skipped] == [
        ("2b.yaml", 1, "[0].expected_answer.incorrect_direction"),
        ("9.yaml", 1, "[0].task_id"),
    ]
    assert skipped[0].why.endswith(" [misplaced-field]")
    assert skipped[1].why.endswith(" [duplicate-id]")
    assert not any("Another question" in asked for asked in server.asked())
    assert replay(store, outcome.run_id).agree == 8
    with store.connect() as connection:
        report = build_report(connection, [outcome.run_id])
    (asked,) = report.asked
    assert [(Path(each.path).name, each.line) for each in asked.skipped] == [
        ("2b.yaml", 1), ("9.yaml", 1),
    ]  # fmt: skip
    assert "Run 1: 2 defects kept cases out of the plan: the rates do not cover them." in (
        report.limitations
    )
    told = [block for block in missing_scores(report) if isinstance(block, Table)]
    assert [row[0] for row in told[-1].rows] == ["run 1", "run 1"]
    assert "move it out" in str(told[-1].rows[0][2])
    shown = invoke(store.url, "show", "latest", cwd=tmp_path).stdout
    assert "2 defects kept cases out of the plan (`audit 1` lists them)" in shown
    told_to_programs = invoke(store.url, "show", "latest", "--format", "json", cwd=tmp_path).stdout
    assert json.loads(told_to_programs)["skipped_defects"] == 2
    assert invoke(store.url, "audit", "1", cwd=tmp_path).stdout.count("CaseSkipped") == 2


def test_a_defect_stands_at_its_line_and_counts_for_the_task_that_it_is_in(
    configured: Configured, store: Store, tmp_path: Path
) -> None:
    path = str(tmp_path / "tasks")
    loaded = configured(prompts={"path": path, "dialect": "benchmark", "on_invalid": "skip"})
    tasks = [
        task("nine", "Nine?", category=9, sub_category=9),
        task("ten", "Ten?", category=10),
        task("eleven", "Eleven?"),
    ]
    lines = [b"- " + orjson.dumps(each) for each in tasks]
    (tmp_path / "tasks" / "9.yaml").write_bytes(b"\n".join(lines))
    outcome, said = run(loaded, store)
    assert outcome.counts.scored == 8
    at = said.index("skipped: 2 cases with 3 defects")
    assert [line.split(": ")[0].rpartition("/")[2] for line in said[at + 1 :]] == (
        ["9.yaml:1", "9.yaml:1", "9.yaml:2"]
    )
    with store.connect() as connection:
        events = [row.event() for row in find(connection, topics=("CaseSkipped",))]
    assert [(each.line, each.field) for each in events if isinstance(each, CaseSkipped)] == [
        (1, "[0].category"), (1, "[0].sub_category"), (2, "[1].category"),
    ]  # fmt: skip


def test_through_the_interfaces_the_same_tasks_are_loaded_and_planned(
    configured: Configured, store: Store, tmp_path: Path
) -> None:
    path = str(tmp_path / "tasks")
    loaded = configured(prompts={"path": path, "dialect": "benchmark", "on_invalid": "skip"})
    with_defects(tmp_path / "tasks")
    with open_benchmark(loaded.path, store.url, follow=False) as parts:
        parts.data.judge_with("judge")
        run_id = parts.data.create_run(["alpha"])
        parts.data.save_tasks(run_id, parts.loader.load_tasks(path))
        results = parts.data.load_results(run_id, TaskStatus.NEW)
    assert [each.task_id for each in results] == ["task-1", "task-2", "task-3", "after"]


def test_where_skipping_leaves_nothing_it_is_an_error(
    configured: Configured, store: Store, tmp_path: Path
) -> None:
    path = str(tmp_path / "tasks")
    loaded = configured(prompts={"path": path, "dialect": "benchmark", "on_invalid": "skip"})
    for file in (tmp_path / "tasks").iterdir():
        file.write_text("task_id: only")
    with pytest.raises(InvalidInput):
        run(loaded, store)
