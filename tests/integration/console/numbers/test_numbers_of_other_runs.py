"""Runs that took over, left out, crossed or imported something: their pages say what SQL says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from tests.acceptance.commands import invoke, write_configuration
from tests.conftest import create_database, database_url_as, drop_database, home_of
from tests.console import console, settings_for
from tests.integration.console.numbers.log import Ask, AskingLog
from tests.integration.console.numbers.server import Answers
from tests.unit.recorded_runs.reading import FILES

pytestmark = pytest.mark.slow
WHOLE, REUSING, AGAIN, SAMPLE, MATRIX, IMPORTED = 1, 2, 3, 4, 5, 6
RUNS = (WHOLE, REUSING, AGAIN, SAMPLE, MATRIX, IMPORTED)
CASES = 12
STANDING = "/* how each evaluation stands, wherever it happened */ " + (
    "SELECT e.number, e.model, e.id::text AS evaluation_id, e.prompt_id, e.repetition, "
    "t.source IS NOT NULL AS carried_over, coalesce(t.source, e.id) AS answer, e.last_position, "
    "CASE WHEN t.source IS NULL THEN e.requests ELSE s.requests END AS requests, "
    "coalesce(s.passed, e.passed) AS passed, coalesce(s.scored, e.scored) AS scored, "
    "coalesce(s.abandoned, e.abandoned) AS abandoned, "
    "coalesce(s.latency_ms, e.latency_ms, (SELECT (p ->> 'latency_ms')::float8 FROM log "
    "WHERE stream = e.id AND topic = 'AnswerImported')) AS latency_ms, "
    "CASE WHEN coalesce(s.answers, e.answers) > 0 THEN coalesce(s.cost_usd, e.cost_usd) END "
    "AS cost_usd FROM evaluation AS e "
    "LEFT JOIN (SELECT stream, (p ->> 'source_evaluation_id')::uuid AS source FROM log "
    "WHERE topic = 'CarriedOver') AS t ON t.stream = e.id "
    "LEFT JOIN evaluation AS s ON s.id = t.source AND t.source IS NOT NULL"
)
FINISHED = (
    "SELECT number, model, count(*) AS finished, "
    "count(*) FILTER (WHERE passed) AS passed, count(*) FILTER (WHERE NOT passed) AS failed, "
    "count(*) FILTER (WHERE abandoned) AS abandoned, "
    "count(*) FILTER (WHERE carried_over) AS carried_over, "
    "coalesce(sum(requests) FILTER (WHERE NOT carried_over), 0)::int AS requests "
    "FROM standing GROUP BY GROUPING SETS ((number, model), (number))"
)
REMARKS = {
    WHOLE: [],
    REUSING: [f"may reuse answers of run {WHOLE}"],
    AGAIN: [f"asks again what failed in run {WHOLE}, so its pass rate is too high"],
    SAMPLE: [f"5 of {CASES} cases: sample of 5, seed 7"],
    MATRIX: [],
    IMPORTED: ["imported from promptfoo 0.121.20, not asked by us"],
}


@pytest.fixture(scope="module")
def other_log(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """One run of each kind. The server answers otherwise after the first."""
    name = f"numbers_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name)
    folder = tmp_path_factory.mktemp("others")
    server = Answers()
    models = [{"provider": "openai", "base_url": server.url, "model": m} for m in ("one", "two")]
    prices = [
        {"model": model, "input_usd_per_million": 2.5, "output_usd_per_million": 10}
        for model in ("one", "two")
    ]
    asking: dict[str, Any] = {
        "prices": {"version": "2026-11-01", "models": prices},
        "execution": {"retry_attempts": 2, "retry_delay_ms": 10},
    }
    cases = [
        {"case_id": f"case-{n:02}", "suite_id": ("even", "odd")[n % 2],
         "prompt": f"Say number {n}.", "expected_response": f"number {n}"}
        for n in range(CASES)
    ]  # fmt: skip
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))

    def does(*arguments: object) -> None:
        done = invoke(url, *arguments, cwd=folder)
        assert done.exit_code in (0, 1, 3), (arguments, done.output)

    with home_of(folder):
        write_configuration(folder, server.url, models=models, **asking)
        does("start", "run.yaml", "--quiet")
        server.modulus = 4
        does("start", "run.yaml", "--quiet", "--reuse", WHOLE)
        does("resume", WHOLE, "--again", "failed", "--quiet")
        does("start", "run.yaml", "--quiet", "--sample", 5, "--seed", 7)
        matrix = {"prompts": {"plain": {}, "terse": {"system": "Be short."}}}
        write_configuration(folder, server.url, models=models, matrix=matrix, **asking)
        does("start", "run.yaml", "--quiet")
        does("import", "promptfoo-results", FILES / "promptfoo_results.json")
    server.shutdown()
    server.server_close()
    yield url
    drop_database(postgres_server, name)


@pytest.fixture(scope="module")
def others(other_log: str) -> Iterator[httpx.Client]:
    with (
        console(**settings_for(other_log)) as url,
        httpx.Client(base_url=url, timeout=60) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def ask_others(other_log: str) -> Iterator[Ask]:
    with AskingLog(other_log, f"CREATE TEMP TABLE standing AS {STANDING}") as asked:
        yield asked


def read(client: httpx.Client, path: str) -> Any:
    page, mark, query = path.partition("?")
    found = client.get(f"{page}.json{mark}{query}")
    assert found.status_code == 200, found.text
    return found.json()


def standing(ask: Ask, number: int) -> list[dict[str, Any]]:
    return ask("SELECT * FROM standing WHERE number = %s ORDER BY evaluation_id", number)


def counted(ask: Ask, number: int) -> dict[str | None, dict[str, Any]]:
    """By model, and of all together."""
    rows = ask(f"SELECT * FROM ({FINISHED}) AS f WHERE number = %s", number)
    return {each["model"]: each for each in rows}


def test_these_runs_are_what_they_are_meant_to_be(ask_others: Ask) -> None:
    taken = [counted(ask_others, number)[None]["carried_over"] for number in RUNS]
    finished = [counted(ask_others, number)[None]["finished"] for number in RUNS]
    assert taken[:3] == [0, 22, 16] and taken[3:] == [0, 0, 0]
    assert finished == [24, 24, 24, 10, 48, 16]


@pytest.mark.parametrize("number", RUNS)
@pytest.mark.thinned(whole=3)
def test_results_tell_what_was_taken_over(
    others: httpx.Client, ask_others: Ask, number: int
) -> None:
    document = read(others, f"/runs/{number}/results?limit=200")
    names = ("evaluation_id", "carried_over", "requests", "latency_ms", "cost_usd",
             "last_position")  # fmt: skip
    expected = [{name: row[name] for name in names} for row in standing(ask_others, number)]
    shown = sorted(document["rows"], key=lambda row: str(row["evaluation_id"]))
    for one, two in zip(shown, expected, strict=True):
        assert {name: one[name] for name in names} == pytest.approx(two), one
    assert document["remarks"] == REMARKS[number]
    page = others.get(f"/runs/{number}/results?limit=200").text
    assert page.count("carried over") == sum(row["carried_over"] for row in expected)
    lines = others.get(f"/runs/{number}/results.jsonl").content.splitlines()
    assert [orjson.loads(line)["carried_over"] for line in lines] == [
        row["carried_over"] for row in document["rows"]
    ]


@pytest.mark.parametrize("number", RUNS)
@pytest.mark.thinned(fast=2, whole=4)
def test_a_run_counts_what_it_asked_itself(
    others: httpx.Client, ask_others: Ask, number: int
) -> None:
    document = read(others, f"/runs/{number}")
    of = counted(ask_others, number)
    shown = {None: document["counts"]} | {m["model"]: m["counts"] for m in document["by_model"]}
    assert shown.keys() == of.keys()
    for model, counts in shown.items():
        for name in ("finished", "passed", "failed", "carried_over", "requests"):
            together = model is None and len(shown) > 2 and name in ("passed", "failed")
            assert counts[name] == (None if together else of[model][name]), (model, name)
        assert counts["abandoned"] + counts["awaiting_review"] == of[model]["abandoned"]
    [spent] = ask_others(
        "SELECT count(*) AS answers, coalesce(sum(cost_usd), 0)::float8 AS known_usd "
        "FROM answer JOIN run USING (run_id) WHERE number = %s", number
    )  # fmt: skip
    cost = read(others, f"/runs/{number}/cost")
    assert cost["answers"] == spent["answers"]
    assert cost["total"]["known_usd"] == pytest.approx(spent["known_usd"])
    assert cost["carried_over"] == of[None]["carried_over"]
    assert cost["remarks"] == document["remarks"] == REMARKS[number]
    assert read(others, f"/runs/{number}/charts")["remarks"] == REMARKS[number]
    for path in ("", "/results", "/cost", "/charts"):
        page = others.get(f"/runs/{number}{path}").text
        assert all(f"<bdi>{each}</bdi>" in page for each in REMARKS[number]), path


def remarks_in(row: dict[str, Any]) -> list[str]:
    """What a list of runs says beside the numbers of one."""
    return [row[name] for name in ("imported", "selection", "branch") if row[name]]


def test_the_list_of_runs_says_so_too(
    others: httpx.Client, ask_others: Ask, other_log: str, tmp_path: Path
) -> None:
    rows = {row["run"]["run_number"]: row for row in read(others, "/runs")["rows"]}
    for number in RUNS:
        run, of = rows[number]["run"], counted(ask_others, number)
        assert remarks_in(run) == REMARKS[number]
        assert run["finished"] == of[None]["finished"]
        for each in rows[number]["models"]:
            assert each["passed"]["passed"] == of[each["model"]]["passed"]
    for run in orjson.loads(invoke(other_log, "runs", "--json", cwd=tmp_path).stdout):
        assert remarks_in(run) == REMARKS[run["run_number"]]
    page = others.get("/runs").text
    for each in read(others, f"/runs/{MATRIX}")["models"]:
        assert f"<bdi>{each['model']}</bdi>" in page  # whole: variants differ at their end


def test_no_rate_adds_up_many_models(others: httpx.Client, ask_others: Ask) -> None:
    of, page = counted(ask_others, MATRIX)[None], others.get(f"/runs/{MATRIX}").text
    judged = of["passed"] + of["failed"]
    assert "all-of" not in page and f">{of['passed']}/{judged}<" not in page
    assert ", each by itself" in page
    with others.stream("GET", f"/runs/{MATRIX}/live") as live:
        [data] = [line[6:] for line in live.iter_lines() if line.startswith("data: {")]
    told = orjson.loads(data)
    for key, line in told["paths"].items():
        assert f'data-path="{key}" d="{line}"' in page
    assert "all-of" not in told["texts"]


def test_of_an_imported_run_no_cost_is_looked_for(others: httpx.Client) -> None:
    for path in ("", "/cost", "/results"):
        page = others.get(f"/runs/{IMPORTED}{path}").text
        assert 'class="nothing">unknown<' not in page and "$0" not in page, path
    assert "Nothing was asked here." in others.get(f"/runs/{IMPORTED}/cost").text


def test_a_case_counts_each_answer_once(others: httpx.Client, ask_others: Ask) -> None:
    cases = ask_others("SELECT prompt_id FROM stored_case WHERE suite IN ('even', 'odd')")
    for prompt in cases[:4]:
        page = read(others, f"/cases/{prompt['prompt_id']}?limit=200")
        models = ask_others(
            "SELECT model, count(DISTINCT number) FILTER (WHERE NOT carried_over) AS runs, "
            "count(*) FILTER (WHERE NOT carried_over) AS evaluations, "
            "count(*) FILTER (WHERE carried_over) AS carried_over, "
            "count(*) FILTER (WHERE passed AND NOT carried_over) AS passed, "
            "count(*) FILTER (WHERE passed IS NOT NULL AND NOT carried_over) AS judged "
            "FROM standing WHERE prompt_id = %s GROUP BY 1", prompt["prompt_id"]
        )  # fmt: skip
        shown = {each["model"]: each for each in page["models"]}
        assert shown.keys() == {each["model"] for each in models}
        for each in models:
            told = shown[each["model"]]
            for name in ("runs", "evaluations", "carried_over"):
                assert told[name] == each[name], (each, name)
            rate = told["passed"]
            assert (rate["passed"], rate["total"]) == (each["passed"], each["judged"])
        taken = [row["evaluation_id"] for row in page["rows"] if row["carried_over"]]
        assert len(taken) == sum(each["carried_over"] for each in models)


@pytest.mark.parametrize(("base", "other"), [(WHOLE, REUSING), (REUSING, AGAIN), (AGAIN, SAMPLE)])
@pytest.mark.thinned(whole=1)
def test_a_comparison_says_where_nothing_could_differ(
    others: httpx.Client, ask_others: Ask, base: int, other: int
) -> None:
    document = read(others, f"/compare?base={base}&other={other}&show=all&limit=50")
    pairs = ask_others(
        "SELECT one.model, count(*) AS pairs, "
        "count(*) FILTER (WHERE one.answer = two.answer) AS one_answer "
        "FROM standing AS one JOIN standing AS two USING (prompt_id, model, repetition) "
        "WHERE one.number = %s AND two.number = %s AND one.passed IS NOT NULL "
        "AND two.passed IS NOT NULL GROUP BY 1", base, other
    )  # fmt: skip
    told = {each["model"]: each for each in pairs}
    for each in document["models"]:
        of = told[each["other_model"]]
        cells = ("both_passed", "both_failed", "worse", "better")
        assert sum(each[name] for name in cells) == of["pairs"]
        assert each["one_answer"] == of["one_answer"]
    chosen = told[document["chosen"]["other_model"]]
    marked = sum(row["pair"]["one_answer"] for row in document["rows"])
    assert marked == chosen["one_answer"]
    assert [document[side]["remarks"] for side in ("base", "other")] == [
        REMARKS[base], REMARKS[other]
    ]  # fmt: skip
    page = others.get(f"/compare?base={base}&other={other}&show=all&limit=50").text
    assert page.count("One answer, which a run took over.") == marked


def test_the_page_of_a_taken_over_evaluation_leads_to_where_it_happened(
    others: httpx.Client, ask_others: Ask
) -> None:
    row = next(each for each in standing(ask_others, AGAIN) if each["carried_over"])
    document = read(others, f"/evaluations/{row['evaluation_id']}")
    assert document["verdict"]["source_evaluation_id"] == str(row["answer"])
    taken = {each["evaluation_id"] for each in document["elsewhere"] if each["carried_over"]}
    expected = ask_others(
        "SELECT evaluation_id FROM standing WHERE prompt_id = %s AND number <> %s "
        "AND carried_over", row["prompt_id"], AGAIN
    )  # fmt: skip
    assert taken == {each["evaluation_id"] for each in expected}
    page = others.get(f"/evaluations/{row['evaluation_id']}").text
    assert f'href="/evaluations/{row["answer"]}"' in page and REMARKS[AGAIN][0] in page


def test_what_is_found_says_that_it_was_taken_over(others: httpx.Client, ask_others: Ask) -> None:
    rows = standing(ask_others, REUSING)
    for carried_over in (True, False):
        row = next(each for each in rows if each["carried_over"] == carried_over)
        page = others.get(
            f"/search.json?q=evaluation {row['evaluation_id']}", follow_redirects=True
        )
        (hit,) = (each["hit"] for each in page.json()["hits"])
        assert hit["says"].endswith(", carried over") == carried_over
    found = read(others, "/search?q=number")["hits"]
    said = {each["hit"]["id"]: each["hit"]["says"] for each in found}
    assert found and all(
        (", carried over: " in said[row["evaluation_id"]]) == row["carried_over"]
        for number in RUNS
        for row in standing(ask_others, number)
        if row["evaluation_id"] in said
    )
