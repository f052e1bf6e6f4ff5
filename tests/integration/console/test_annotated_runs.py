"""Annotations of runs: put on record by a command, shown and filtered by each list of runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx
import orjson
import psycopg
import pytest

from failproof_es.cli.app.errors import ExitCode
from failproof_es.console.links import CurrentPage
from failproof_es.console.paging import Query
from failproof_es.console.parts.run import RunPage, next_steps
from failproof_es.console.rendering import render
from failproof_es.core.case import operations_id
from failproof_es.engine.annotations import annotations_of
from failproof_es.engine.history import read_run
from failproof_es.events import RunAnnotated
from failproof_es.reading.at_head import catch_up_problem
from failproof_es.reading.listed_runs import list_runs
from failproof_es.reading.log import LogReader
from failproof_es.reading.result_reader import ResultReader, RunFilter
from failproof_es.reading.rows import RowReader
from failproof_es.store.mapper import decode
from failproof_es.store.reading.reader import resolve_run
from failproof_es.store.store import Store
from failproof_es.store.writing.appending import append_drafts
from failproof_es.store.writing.event_header import Draft, EventHeader
from tests.acceptance.commands import invoke, mock_server, write_configuration, write_suite
from tests.console import console, settings_for
from tests.console_html import objections
from tests.harmless_html import HOSTILE
from tests.integration.console.test_pages import Text


@pytest.fixture
def three_runs(store: Store, tmp_path: Path) -> Iterator[str]:
    """Three attempts at the same; yields the URL of a console over them."""
    write_suite(tmp_path, 3)
    with mock_server(latency_ms=0) as mock_url:
        write_configuration(tmp_path, mock_url)
        for _ in range(3):
            assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    with console(**settings_for(store.url)) as url:
        yield url


def annotate(store: Store, folder: Path, *arguments: object) -> Any:
    done = invoke(store.url, "annotate", *arguments, "--json", cwd=folder)
    assert done.exit_code == 0, done.output
    return orjson.loads(done.stdout)


def test_names_tags_and_notes_are_on_record_and_hidden_runs_count_as_attempts(
    store: Store, tmp_path: Path, three_runs: str
) -> None:
    assert annotate(store, tmp_path, 2, "--tag", "a", "--tag", "b", "--name", "the base")["who"]
    assert annotate(store, tmp_path, 2, "--untag", "a", "--note", "=1+1")["tags"] == ["b"]
    told = annotate(store, tmp_path, 1, "--hide")
    assert (told["name"], told["tags"], told["note"], told["hidden"]) == (None, [], None, True)
    again = invoke(store.url, "annotate", 1, "--hide", cwd=tmp_path)
    assert "nothing is recorded" in again.stderr
    trail = invoke(store.url, "audit", 2, cwd=tmp_path).stdout
    assert trail.count("RunAnnotated") == 2 and "tags: a; b" in trail

    *listed, left_out = orjson.loads(invoke(store.url, "runs", "--json", cwd=tmp_path).stdout)
    hidden = {"why": "hidden", "runs": 1, "command": "failproof-es runs --hidden"}
    assert left_out == {"left_out": [hidden]}
    assert [(run["run_number"], run["attempt"], run["attempts"]) for run in listed] == [
        (3, 3, 3), (2, 2, 3),
    ]  # fmt: skip
    assert (listed[1]["given_name"], listed[1]["tags"], listed[1]["note"]) == (
        "the base", ["b"], "=1+1",
    )  # fmt: skip
    assert "1 hidden run left out" in invoke(store.url, "runs", cwd=tmp_path).stderr
    everything = invoke(store.url, "runs", "--hidden", "--json", cwd=tmp_path).stdout
    assert [run["hidden"] for run in orjson.loads(everything)] == [False, False, True]

    def numbers(query: str) -> list[int]:
        rows = httpx.get(f"{three_runs}/runs.json?{query}", timeout=60).json()["rows"]
        return [row["run"]["run_number"] for row in rows]

    for query, expected in (
        ("", [3, 2]), ("hidden=only", [1]), ("hidden=all", [3, 2, 1]), ("tag=b", [2]),
        ("tag=a", []), ("text=THE+BASE", [2]), ("hidden=only&tag=b", []),
    ):  # fmt: skip
        assert numbers(query) == expected, query
        lines = httpx.get(f"{three_runs}/runs.jsonl?{query}", timeout=60).text.splitlines()
        assert [orjson.loads(line)["run_number"] for line in lines] == expected, query
    page = httpx.get(f"{three_runs}/runs.json", timeout=60).json()
    assert (page["hidden_runs"], page["paging"]["total"]) == (1, 2)
    assert page["tags"] == [{"tag": "b", "runs": 1}]
    html = httpx.get(f"{three_runs}/runs", timeout=60).text
    assert {"the base", "=1+1", "1 hidden"} <= set(Text(html).words)
    assert "/runs?hidden=only" in Text(html).links and "/runs?tag=b" in Text(html).links
    assert "'=1+1" in httpx.get(f"{three_runs}/runs.csv", timeout=60).text

    annotate(store, tmp_path, 2, "--tag", "x\\u0000", "--name", "Other")
    readers_choose_alike(store)


def readers_choose_alike(store: Store) -> None:
    """The log and the rows choose the same runs; forged annotations count for nothing."""
    with store.connect() as connection:
        first, second, third = (resolve_run(connection, str(number)) for number in (1, 2, 3))
        start = read_run(connection, second).started
    elsewhere = EventHeader(operations_id(first), None, about=third, who="w", where="h")
    forged = {"name": "forged", "tags": ("x",), "note": None, "hidden": True}
    one_more_than_a_query_reads = 9
    append_drafts(store, [Draft(RunAnnotated, elsewhere, **forged)] * one_more_than_a_query_reads)
    with store.connect() as connection:
        assert catch_up_problem(connection) is None
        readers: tuple[ResultReader, ...] = (RowReader(connection), LogReader(connection))
        for which, expected in (
            (RunFilter(), [3, 2, 1]), (RunFilter(hidden=False), [3, 2]),
            (RunFilter(hidden=True), [1]), (RunFilter(tag="x\\u0000"), [2]),
            (RunFilter(tag="x"), []), (RunFilter(text="other"), [2]),
            (RunFilter(text="acceptance", hidden=False), [3, 2]), (RunFilter(text="forged"), []),
            (RunFilter(since=start.timestamp), [3, 2]), (RunFilter(until=start.timestamp), [2, 1]),
            (RunFilter(experiment=start.experiment.digest), [3, 2, 1]),
            (RunFilter(experiment="0" * 64), []),
        ):  # fmt: skip
            for reader in readers:
                found = list_runs(connection, reader, which=which)
                assert [run.run_number for run in found] == expected, (which, reader.source)
        assert [reader.count_hidden() for reader in readers] == [1, 1]
        assert set(annotations_of(connection, [first, second, third])) == {first, second}
        with patch("failproof_es.engine.annotations.decode", wraps=decode) as decoded:
            assert annotations_of(connection, [second])[second].name == "Other"
        assert decoded.call_count == 1, "only the last one counts"


def test_an_annotation_that_is_too_long_is_refused(
    store: Store, tmp_path: Path, mock_runs: None
) -> None:
    for arguments, said in (
        (("--tag", "a,b"), "a comma"),
        (("--tag", ""), "empty"),
        (("--tag", "x" * 51), "the tag has 51 characters"),
        (("--name", "x" * 201), "the name has 201 characters"),
        (("--note", "x" * 2_001), "the note has 2,001 characters"),
        (tuple(word for n in range(21) for word in ("--tag", str(n))), "21 tags"),
    ):
        done = invoke(store.url, "annotate", 1, *arguments, cwd=tmp_path)
        assert done.exit_code == ExitCode.USAGE and said in done.stderr
    assert "no annotation" in invoke(store.url, "annotate", 1, cwd=tmp_path).stderr


def test_hostile_names_tags_and_notes_change_no_page(store: Store, mock_runs: None) -> None:
    """The list of runs; of a run's own page the first text: `test_hostile_text.py` has them all."""
    with store.connect() as connection:
        run_id = resolve_run(connection, "1")
    own = EventHeader(operations_id(run_id), None, about=run_id, who="w", where="h")
    hostile = [text for name, text in HOSTILE.items() if name != "surrogate"]
    with console(**settings_for(store.url)) as url, httpx.Client(base_url=url, timeout=60) as asked:
        for text in hostile:
            fields = {"name": text, "tags": (text, text), "note": text, "hidden": False}
            append_drafts(store, [Draft(RunAnnotated, own, **fields)])
            for path in ("/runs", "/runs/1") if text is hostile[0] else ("/runs",):
                found = asked.get(path)
                assert found.status_code == 200, (path, found.text[:500])
                assert not objections(found.text), (path, text[:40])


def test_ticked_runs_are_compared_the_older_one_is_the_base(client: httpx.Client) -> None:
    for query in ("run=3&run=1", "run=1&run=3"):
        page = client.get(f"/compare.json?{query}").json()
        assert (page["base"]["run_number"], page["other"]["run_number"]) == (1, 3)
        links = Text(client.get(f"/compare?{query}").text).links
        assert any(
            re.fullmatch(f"/compare\\?{query}(&model=mock)?&show=all", link) for link in links
        )
    for query, why in (("run=1", "not 1"), ("run=1&run=1", "not 1"), ("run=1&run=2&run=3", "not 3"),
                       ("run=1&base=2&other=3", "leave these out")):  # fmt: skip
        refused = client.get(f"/compare.json?{query}")
        assert refused.status_code == 422 and why in refused.json()["error"], refused.text


def test_a_paused_run_says_why_and_what_to_type(client: httpx.Client, console_log: str) -> None:
    told = client.get("/runs/2.json").json()
    with psycopg.connect(console_log) as connection:
        reader = LogReader(connection)
        run = reader.run(resolve_run(connection, "2"))
        summary = reader.summary(run)
    for at_ceiling, command in (
        (False, "failproof-es resume 2"),
        (True, "failproof-es resume 2 --max-spend USD"),
    ):
        paused = replace(run, status="paused", at_ceiling=at_ceiling)
        steps = tuple(next_steps(paused, summary))
        assert [step.command for step in steps] == [command, "failproof-es give-up 2"]
        page = RunPage.model_validate(
            told | {"shape": "1", "status": "paused", "reason": "no <answers>", "next_steps": steps}
        )
        html = render("run.html", page=page, as_of=page.as_of, here=CurrentPage("/runs/2", Query()))
        assert not objections(html)
        assert html.count(f": <code>{command}</code></li>") == 1
        assert "Paused: no <answers>" in Text(html).text
    (gone,) = next_steps(replace(run, status="failed"), summary)
    assert gone.command == "failproof-es resume 2 --again errors"
