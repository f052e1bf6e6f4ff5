"""Specification 001 from the command line, with prompts that are stored in the database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import Result

from failproof_es.dialects import dialect_named
from failproof_es.dialects.shipped.promptguard.template import embed, shipped
from failproof_es.engine.planning import prompt_collections as collections
from failproof_es.engine.planning.planner import store_prompts
from failproof_es.engine.planning.prompt_collections import import_prompts
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from tests.acceptance.commands import asked, invoke
from tests.acceptance.dialects.test_promptguard import configure, export, full_prompts, prompt

TEMPLATE = {"system": "You judge.", "user": "Now: {prompt}"}
"""Of the first of two models."""


def import_file(store: Store, folder: Path, *prompts: dict[str, Any]) -> None:
    (folder / "import.jsonl").write_bytes(b"\n".join(map(orjson.dumps, prompts)))
    done = invoke(
        store.url, "prompts", "import", "import.jsonl", "--collection", "calibration", cwd=folder
    )
    assert done.exit_code == 0, done.output


def start_collection(store: Store, url: str, folder: Path, **prompts: Any) -> Result:
    configure(folder, url)
    configuration = orjson.loads((folder / "run.yaml").read_bytes())
    configuration["prompts"] = {"source": "database", "collection": "calibration", **prompts}
    configuration["models"][0]["prompt_template"] = TEMPLATE
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))
    return invoke(store.url, "start", "run.yaml", "--json", "--quiet", cwd=folder)


def test_a_collection_is_run_from_the_database_without_its_file(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    import_file(store, tmp_path, *(prompt(n) for n in range(4)))
    import_file(store, tmp_path, prompt(1, content="changed"), prompt(9))
    newest = {**prompt(1), "content": f"the newest of {prompt(1)['content']}"}
    import_file(store, tmp_path, newest)
    (tmp_path / "import.jsonl").unlink()
    listed = invoke(store.url, "prompts", "list", "--json", cwd=tmp_path).stdout
    assert json.loads(listed) == [
        {"collection": "calibration", "dialect": "promptguard", "prompts": 5}
    ]
    done = start_collection(store, mock_url, tmp_path)
    assert done.exit_code == 0, done.output
    asked_about = full_prompts(store, tmp_path)
    assert list(asked_about) == ["q-0", "q-1", "q-2", "q-3", "q-9"]
    contents = {key: prompt(int(key[2:]))["content"] for key in asked_about}
    contents["q-1"] = newest["content"]
    assert asked_about == {key: embed(shipped(), text) for key, text in contents.items()}


def test_filters_choose_and_the_template_of_the_run_asks(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    import_file(store, tmp_path, *(prompt(n) for n in range(4)))
    template = "T, I, F of {{delimiter}} {{prompt}} {{delimiter}}?"
    done = start_collection(
        store,
        mock_url,
        tmp_path,
        filters={"category": ["odd"], "expected_label": ["manipulative"]},
        options={"template": template},
    )
    assert done.exit_code == 0, done.output
    assert "prompts.filters: 2 of 4 cases are asked" in done.stderr
    shown = " ".join(invoke(store.url, "show", "1", cwd=tmp_path).stdout.split())
    filters = "category odd and expected_label manipulative"
    assert f"asked 2 of 4 cases: only cases with {filters} (prompts.filters)" in shown
    asked_about = full_prompts(store, tmp_path)
    assert list(asked_about) == ["q-1", "q-3"]
    assert all(text.startswith("T, I, F of ") for text in asked_about.values())
    printed = invoke(store.url, "results", "latest", "--format", "jsonl", cwd=tmp_path).stdout
    collected = export(store, tmp_path)["evaluations"]
    for records in (list(map(json.loads, printed.splitlines())), collected):
        sent = [record["request"]["full_prompt"] for record in records]
        expected = list(asked_about.values())
        expected += [f"You judge.\n\nNow: {text}" for text in asked_about.values()]
        assert sorted(sent) == sorted(expected)
    assert {f"Now: {text}" for text in asked_about.values()} <= set(asked(mock_url))


def test_what_is_not_in_the_database_is_said_with_what_is(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    import_file(store, tmp_path, prompt(1), prompt(2, source="other.jsonl"))
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"collection": "calibratoin"}, "prompts.collection: there is no collection 'calibratoin'"),
        ({"dialect": "failproof"}, "prompts.dialect: collection 'calibration' is of the dialect"),
        ({"filters": {"category": ["od"]}}, "prompts.filters.category: no case has category 'od'"),
        (
            {"filters": {"category": ["odd"], "source": ["other.jsonl"]}},
            "prompts.filters: none of 2 cases matches all filters",
        ),
    )
    for prompts, words in wrong:
        done = start_collection(store, mock_url, tmp_path, **prompts)
        assert done.exit_code == 2, words
        assert f"run.yaml:1: {words}" in done.stderr
        if "collection" in prompts:
            assert "did you mean 'calibration'?" in done.stderr


def test_of_two_imports_at_once_in_two_dialects_the_second_is_refused(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection is of one dialect, whoever read it last before it was written to."""
    (tmp_path / "one.jsonl").write_bytes(orjson.dumps(prompt(1)))
    (tmp_path / "two.jsonl").write_bytes(orjson.dumps(prompt(2)))

    class Other(type(dialect_named("promptguard"))):  # type: ignore[misc]
        name = "other"

    def then_a_rival(*arguments: Any) -> list[str]:
        monkeypatch.setattr(collections, "store_prompts", store_prompts)
        import_prompts(store, Other(), [tmp_path / "two.jsonl"], "c")
        return store_prompts(*arguments)

    monkeypatch.setattr(collections, "store_prompts", then_a_rival)
    with pytest.raises(InvalidInput, match="collection 'c' is of the dialect 'other'"):
        import_prompts(store, dialect_named("promptguard"), [tmp_path / "one.jsonl"], "c")
    with store.connect() as connection:
        assert collections.collection_names(connection) == {"c": ("other", 1)}


def test_an_import_with_a_defect_imports_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_bytes(orjson.dumps(prompt(1)) + b"\n{}\n")
    arguments = ("prompts", "import", "bad.jsonl", "--collection", "c")
    assert invoke(store.url, *arguments, cwd=tmp_path).exit_code == 2
    assert invoke(store.url, "prompts", "list", "--format", "jsonl", cwd=tmp_path).stdout == ""


def test_a_suite_of_another_dialect_is_no_collection(store: Store, tmp_path: Path) -> None:
    (tmp_path / "suite.jsonl").write_text('{"case_id": "a", "suite_id": "s", "prompt": "?"}')
    arguments = ("suite.jsonl", "--collection", "c", "--dialect", "failproof")
    done = invoke(store.url, "prompts", "import", *arguments, cwd=tmp_path)
    assert done.exit_code == 2
    assert "has suites, not stored prompts" in done.stderr


def test_the_costs_counted_anew_after_a_run_are_those_of_the_cost_view(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    (tmp_path / "calibration.jsonl").write_bytes(
        b"\n".join(orjson.dumps(prompt(n, content=f"cost {n}")) for n in range(5))
    )
    configure(tmp_path, mock_url)
    prices = {"version": "2026-11-21", "models": [
        {"model": "gpt-4o", "input_usd_per_million": 2.5, "output_usd_per_million": 10},
    ]}  # fmt: skip
    configuration = orjson.loads((tmp_path / "run.yaml").read_bytes())
    (tmp_path / "run.yaml").write_bytes(orjson.dumps({**configuration, "prices": prices}))
    invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    shown = invoke(store.url, "show", "latest", "--json", cwd=tmp_path).stdout
    validation = json.loads(shown)["validation"]
    assert validation["passed"], validation["findings"]
    with store.connect() as connection:
        rows = connection.execute("SELECT model_key, cost_usd FROM projections.cost").fetchall()
    assert len(rows) == 2
    view = dict(rows)
    assert view["claude-sonnet-4.5"] is None and validation["cost_usd"]["claude-sonnet-4.5"] is None
    assert float(validation["cost_usd"]["gpt-4o"]) == float(view["gpt-4o"]) > 0
