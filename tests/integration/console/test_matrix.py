"""The matrix of a run: every case once, every cell what the log holds, at a bounded cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from failproof_es.console.pages import matrix
from failproof_es.reading.overviews import counted_results, result_matrix
from tests.acceptance.commands import invoke, mock_server, write_configuration
from tests.console import console, settings_for, write_mixed_suite
from tests.integration.console.test_pages import Text
from tests.integration.console.test_results import rows_of

QUERIES = ("", "status=failed", "status=abandoned", "text=number+1", "model=mock-large", "tag=x")


def pages(client: httpx.Client, query: str) -> Iterator[dict[str, Any]]:
    """Every page of the matrix of run 1, one after the other."""
    after = ""
    while True:
        page = client.get(f"/runs/1/matrix.json?{query}{after}").json()
        yield page
        if page["paging"]["next"] is None:
            return
        after = f"&after={page['paging']['next']}"


def test_each_cell_is_what_the_results_say(client: httpx.Client, console_log: str) -> None:
    page = client.get("/runs/1/matrix.json?limit=200").json()
    told = {(row["case_id"], row["model_key"]): row for row in rows_of(console_log, 1)}
    models = [column["model"] for column in page["columns"]]
    assert {(row["case_id"], model) for row in page["rows"] for model in models} == set(told)
    for row in page["rows"]:
        for model, cell in zip(models, row["cells"], strict=True):
            result = told[row["case_id"], model]
            assert cell["first"]["evaluation_id"] == result["evaluation_id"]
            assert cell["first"]["answer"] == result["answer"]
            assert (cell["begun"], cell["passed"]) == (1, int(result["passed"] is True))
    for column in page["columns"]:
        own = [row for row in told.values() if row["model_key"] == column["model"]]
        assert column["passed"]["passed"] == sum(row["passed"] is True for row in own)
        assert column["passed"]["total"] == sum(row["passed"] is not None for row in own)


@pytest.mark.parametrize("query", QUERIES)
def test_a_case_is_chosen_by_any_of_its_results_and_stands_where_its_first_one_does(
    client: httpx.Client, query: str
) -> None:
    results = client.get(f"/runs/1/results.json?limit=200&{query}").json()["rows"]
    wanted = list(dict.fromkeys(result["case_id"] for result in results))
    whole = client.get(f"/runs/1/matrix.json?limit=200&{query}").json()
    assert [row["case_id"] for row in whole["rows"]] == wanted
    assert whole["paging"]["matching"] == len(wanted)
    read = list(pages(client, f"limit=4&{query}"))
    assert [row for page in read for row in page["rows"]] == whole["rows"]
    assert all(len(page["rows"]) <= 4 and page["looked_at"] is None for page in read)


@pytest.mark.parametrize("query", ["", "status=failed", "text=number+1", "requests=2"])
def test_a_page_looks_up_a_few_evaluations_and_none_is_missed(
    client: httpx.Client, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counted_results, "LARGE", 0)
    whole = client.get(f"/runs/1/matrix.json?limit=200&{query}").json()["rows"]
    assert whole
    for name, value in (("MOST_CELLS", 6), ("LOOKED_UP", 4), ("LOOKED_AT", 7), ("LOOKED_INTO", 5)):
        monkeypatch.setattr(result_matrix, name, value)
    read = list(pages(client, f"limit=200&{query}"))
    assert [row for page in read for row in page["rows"]] == whole
    assert all(len(page["rows"]) <= 3 for page in read)
    assert any(page["looked_at"] is not None for page in read)
    assert read[0]["paging"]["matching"] is None
    for page, before in zip(read[1:], read, strict=False):
        path = f"/runs/1/matrix?limit=200&{query}&after={before['paging']['next']}"
        html = client.get(path).text
        assert ("from here on" in html) == (page["looked_at"] is not None)


def test_rows_stay_while_others_end(client: httpx.Client, console_log: str) -> None:
    positions = sorted(row["last_position"] for row in rows_of(console_log, 1))
    middle = positions[len(positions) // 2]
    page = client.get(f"/runs/1/matrix.json?limit=200&up_to={middle}").json()
    cells = [cell for row in page["rows"] for cell in row["cells"] if cell is not None]
    assert len(cells) == sum(position <= middle for position in positions)
    assert page["newer"] == len(positions) - len(cells)


def test_a_conversation_stands_beside_the_matrix_and_the_url_is_all_of_it(
    client: httpx.Client,
) -> None:
    rows = client.get("/runs/1/matrix.json?status=failed").json()["rows"]
    own = [row["cells"][0]["first"]["evaluation_id"] for row in rows]
    path = f"/runs/1/matrix?status=failed&show={own[1]}"
    shown = client.get(path.replace("matrix?", "matrix.json?")).json()["shown"]
    evaluation = client.get(f"/evaluations/{own[1]}.json").json()
    for name in ("evaluation_id", "model", "turns", "verdict", "conversation_problem"):
        assert shown[name] == evaluation[name], name
    assert (shown["previous"], shown["next"]) == (own[0], own[2])
    page = Text(client.get(path).text)
    assert any(f"show={own[2]}" in link and "status=failed" in link for link in page.links)
    assert f"/evaluations/{own[1]}?status=failed" in page.links
    assert "Say number" in page.text
    followed = [link for link in page.links if "show=" in link and "#row-" in link]
    assert len(followed) == sum(len(row["cells"]) + 1 for row in rows)
    assert client.get(followed[-1]).status_code == 200


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("show=x", 422), ("column=0", 422), ("limit=0", 422), ("after=1~2~3", 422),
        ("show=00000000-0000-8000-8000-000000000000", 404), ("column=99", 200), ("show=", 200),
    ],
)  # fmt: skip
def test_odd_parameters_are_named(client: httpx.Client, query: str, status: int) -> None:
    for extension in ("", ".json"):
        answer = client.get(f"/runs/1/matrix{extension}?{query}")
        assert answer.status_code == status, answer.text
        assert (
            status == 200
            or query.partition("=")[0] in answer.text
            or "no evaluation" in (answer.text)
        )


def test_an_evaluation_of_another_run_is_not_shown(client: httpx.Client) -> None:
    [row] = client.get("/runs/4/results.json?limit=1").json()["rows"]
    answer = client.get(f"/runs/1/matrix?show={row['evaluation_id']}")
    assert answer.status_code == 404 and "of another run" in answer.text


def test_many_models_are_shown_in_parts(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.get("/runs/1/matrix.json").json()
    monkeypatch.setattr(matrix, "MOST_COLUMNS", 1)
    parts = [client.get(f"/runs/1/matrix.json?column={n}").json() for n in (1, 2)]
    assert [part["columns"] for part in parts] == [[column] for column in whole["columns"]]
    for place, part in enumerate(parts):
        assert [row["cells"] for row in part["rows"]] == [
            [row["cells"][place]] for row in whole["rows"]
        ]
    html = Text(client.get("/runs/1/matrix").text)
    assert "Models 1 to 1 of 2" in html.text
    assert any("column=2" in link for link in html.links)


@pytest.fixture(scope="module")
def variants_url(
    postgres_server: Any, migrated_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A console over a run with a matrix of prompts, asked twice each."""
    from uuid import uuid4

    from tests.conftest import create_database, database_url_as, drop_database

    name = f"matrix_{uuid4().hex}"
    create_database(postgres_server, name, migrated_database)
    url = database_url_as(postgres_server, name)
    folder: Path = tmp_path_factory.mktemp("matrix")
    write_mixed_suite(folder, 6)
    with mock_server(latency_ms=0) as mock_url:
        models = [
            {"provider": "openai", "base_url": mock_url, "model": model, "key": key}
            for model, key in (("mock", "a@b"), ("mock-large", "large"))
        ]
        write_configuration(
            folder, mock_url, models=models,
            matrix={"prompts": {"plain": {}, "terse": {"user": "Shortly: {prompt}"}}},
            execution={"repetitions": 2},
        )  # fmt: skip
        done = invoke(url, "start", "run.yaml", "--quiet", cwd=folder)
        assert done.exit_code in (0, 1, 3), done.output
    with console(**settings_for(url)) as base:
        yield base
    drop_database(postgres_server, name)


def test_prompts_stand_by_models_where_the_run_has_a_matrix(variants_url: str) -> None:
    page = httpx.get(f"{variants_url}/runs/1/matrix.json", timeout=60).json()
    assert page["variants"]["models"] == ["a@b", "large"]
    assert [row["variant"] for row in page["variants"]["rows"]] == ["plain", "terse"]
    keys = [[column["model"] for column in row["columns"]] for row in page["variants"]["rows"]]
    assert keys == [["a@b@plain", "large@plain"], ["a@b@terse", "large@terse"]]
    html = httpx.get(f"{variants_url}/runs/1/matrix", timeout=60).text
    assert "Prompts and parameters by models" in html


def test_a_cell_counts_repetitions_and_links_to_the_worst(variants_url: str) -> None:
    page = httpx.get(f"{variants_url}/runs/1/matrix.json?limit=200", timeout=60).json()
    results = httpx.get(f"{variants_url}/runs/1/results.json?limit=200", timeout=60).json()["rows"]
    assert page["repetitions"] == 2 and len(results) == 6 * 4 * 2
    for row in page["rows"]:
        for column, cell in zip(page["columns"], row["cells"], strict=True):
            own = [
                result for result in results
                if (result["case_id"], result["model_key"]) == (row["case_id"], column["model"])
            ]  # fmt: skip
            assert cell["first"] == own[0] and cell["begun"] == len(own) == 2
            assert cell["passed"] == sum(result["state"] == "passed" for result in own)
    assert "2 of 2 passed" in Text(httpx.get(f"{variants_url}/runs/1/matrix", timeout=60).text).text
