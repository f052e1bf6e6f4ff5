"""`failproof_es.open`: what a program in Python reads of a run, against what the commands say."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbclient
import nbformat
import orjson
import pytest

import failproof_es
from failproof_es.events import RunStarted
from failproof_es.library.frames import frame_of
from failproof_es.library.opened_run import OpenedRun
from failproof_es.problems import InvalidInput
from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import ROOT, invoke, write_configuration, write_suite
from tests.conftest import home_of, open_copy
from tests.documented import blocks

HOSTILE = "<script>alert(1)</script>\x1b[2J‮"


@pytest.fixture(scope="module")
def asked_store(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Store]:
    """A log with a run: an answer that passes, one that does not, an error, a hostile suite."""
    folder = tmp_path_factory.mktemp("asked")
    write_suite(folder, 1)
    cases = [
        {"case_id": "wrong", "suite_id": HOSTILE, "prompt": "What?"},
        {"case_id": "broken", "suite_id": HOSTILE, "prompt": "[fault:http400]"},
    ]
    with (folder / "suite.jsonl").open("ab") as suite:
        for case in cases:
            suite.write(orjson.dumps({"expected_response": "never", **case}) + b"\n")
    write_configuration(folder, mock_url, gates={"max_unscored_rate": 1})
    with open_copy(postgres_server, migrated_database) as store, home_of(folder):
        done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=folder)
        assert done.exit_code == 0, done.output
        yield store


@pytest.fixture
def run(asked_store: Store) -> Iterator[OpenedRun]:
    """That run, opened."""
    with failproof_es.open(1, database_url=asked_store.url) as opened:
        yield opened


def test_a_run_has_the_results_and_numbers_that_the_commands_print(
    run: OpenedRun, asked_store: Store, tmp_path: Path
) -> None:
    shown = orjson.loads(invoke(asked_store.url, "show", "1", "--json", cwd=tmp_path).stdout)
    assert (run.number, str(run.id), run.status) == (1, shown["run_id"], "completed")
    assert run.summary.total.passed == 1
    results = list(run.results())
    assert [each.status for each in results] == ["scored", "scored", "abandoned"]
    assert [each.passed for each in results] == [True, False, None]
    assert results[0].questions == ("Say number 0.",)
    assert results[0].answer == "You said: Say number 0."
    assert results[0].started_at is not None
    assert results[0].started_at.tzinfo == UTC
    assert [each.place for each in run.results(after=1, limit=1)] == [2]
    events = list(run.events())
    assert isinstance(events[0].event(), RunStarted)
    assert [each.position for each in events] == sorted(each.position for each in events)
    run.assert_gates()


def test_a_frame_has_a_type_for_each_column_also_where_nothing_is_known(run: OpenedRun) -> None:
    import pandas

    frame, empty = run.frame(), frame_of([])
    for each in (frame, empty):
        kinds = each.dtypes.astype(str)
        assert kinds["place"] == "Int64"
        assert kinds["answer"] == "string"
        assert kinds["passed"] == "boolean"
        assert kinds["cost_usd"] == "Float64"
        assert kinds["started_at"] == "datetime64[us, UTC]"
    assert frame["passed"].tolist() == [True, False, pandas.NA]
    assert str(frame.dtypes["score:accuracy"]) == "Float64"
    assert frame["score:accuracy"].isna().tolist() == [False, False, True]
    assert (len(frame), len(empty)) == (3, 0)


def test_a_closed_run_says_so_and_keeps_what_it_read(asked_store: Store) -> None:
    with failproof_es.open(1, database_url=asked_store.url) as opened:
        before = opened.summary
    for read in (lambda: list(opened.results()), opened.events, lambda: opened.charts):
        with pytest.raises(ValueError, match=r"run 1 .* is closed; open it again"):
            read()
    assert opened.summary is before


def test_a_frame_of_a_library_that_is_not_there_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    wanted: Any = "polars"
    with pytest.raises(InvalidInput, match=r"pip install polars.*\[package-not-installed\]"):
        frame_of([], wanted)


def test_what_shows_itself_has_no_markup_of_the_data_and_each_chart_is_a_document(
    run: OpenedRun,
) -> None:
    for shown in (run._repr_html_(), run.charts._repr_html_()):
        assert "<script" not in shown
        assert "\x1b" not in shown
        assert "‮" not in shown
    assert "&lt;script&gt;" in run._repr_html_()
    charts = list(run.charts)
    assert charts[0].caption == "Passed, by suite, with intervals"
    for chart in charts:
        tree = ElementTree.fromstring(chart.svg)
        assert tree.tag == "{http://www.w3.org/2000/svg}svg"
        assert set(chart._repr_mimebundle_()) == {"text/html", "image/svg+xml", "text/plain"}
        assert not re.search(r"(?i)<script|\bon\w+=|href|url\(", chart.svg)


def test_the_page_about_it_prints_each_result(
    asked_store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAILPROOF_ES_DATABASE_URL", asked_store.url)
    page = ROOT / "docs/how-to/notebooks.md"
    (snippet,) = (block.text for block in blocks(page) if block.language == "python")
    exec(snippet.replace("open(12)", "open(1)"), {})
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["completed 1", "generated case-00000 True None"]
    assert len(said) == 4


def test_a_run_that_is_not_there_is_told_and_nothing_stays_open(store: Store) -> None:
    with pytest.raises(InvalidInput, match=r"\[unknown-run\]"):
        failproof_es.open(database_url=store.url)


NOTEBOOK = """
import failproof_es
run = failproof_es.open()
run
---
run.frame()[["suite_id", "case_id", "passed"]]
---
run.charts[0]
---
run.close()
"""


@pytest.mark.slow
def test_a_notebook_shows_the_run_its_frame_and_its_charts(
    run: OpenedRun, asked_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAILPROOF_ES_DATABASE_URL", asked_store.url)
    v4: Any = nbformat.v4  # it has no types
    cells = [v4.new_code_cell(each.strip()) for each in NOTEBOOK.split("---")]
    notebook = v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3").execute()
    shown = [
        output["data"].get("text/html", "") for cell in notebook.cells for output in cell["outputs"]
    ]
    assert len(shown) == 3
    assert "<caption>run 1 acceptance: completed</caption>" in shown[0]
    assert "<table" in shown[1]
    assert "wrong" in shown[1]
    assert 'src="data:image/svg+xml;base64,' in shown[2]
