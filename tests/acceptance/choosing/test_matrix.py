"""A run of a matrix: each variant is asked in its own way and has its own numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.events import RequestSent
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import asked, invoke, write_configuration, write_suite

MATRIX: dict[str, Any] = {
    "prompts": {"plain": {}, "shout": {"system": "Be loud.", "user": "{prompt} Shout! {prompt}"}},
    "parameters": {"temperature": [0.0, 0.5]},
}
KEYS = [f"mock@{name},temperature={value}" for name in ("plain", "shout") for value in (0.0, 0.5)]


def told(store: Store, folder: Path, *arguments: object) -> Any:
    return json.loads(invoke(store.url, *arguments, "--json", cwd=folder).stdout)


@pytest.mark.slow
def test_every_variant_is_asked_in_its_own_way_and_shown_by_its_key(
    store: Store, tmp_path: Path, mock_url: str
) -> None:
    write_suite(tmp_path, 2, prompt="crossed {n}")
    write_configuration(tmp_path, mock_url, matrix=MATRIX)
    said = "matrix: 4 variants (1 model, 2 prompts, temperature 2)"
    checked = invoke(store.url, "validate", "run.yaml", "--offline", cwd=tmp_path)
    assert said in checked.stderr
    assert "2 cases, 8 evaluations, 8 requests" in checked.stdout
    characters = {
        each["key"]: each["characters"]
        for each in told(store, tmp_path, "validate", "run.yaml", "--offline")["models"]
    }
    assert characters[KEYS[2]] == 2 * characters[KEYS[0]] + 2 * len("Be loud. Shout! ")
    done = invoke(store.url, "start", "run.yaml", cwd=tmp_path)
    assert done.exit_code == 0, done.output
    assert said in done.stderr
    shown = told(store, tmp_path, "show", 1)
    assert [each["key"] for each in shown["models"]] == KEYS
    assert shown["validation"]["passed"] is True, shown["validation"]
    with store.connect() as connection:
        rows = find(connection, run_id=resolve_run(connection, "1"), topics=["RequestSent"])
        sent = [event for row in rows if isinstance(event := row.event(), RequestSent)]
    bodies = {(each.model_key, each.body): orjson.loads(each.body) for each in sent}
    assert len(bodies) == 8
    for (key, _), body in bodies.items():
        assert body["temperature"] == float(key.rpartition("=")[2])
        roles = [each["role"] for each in body["messages"]]
        assert roles == (["system", "user"] if "shout" in key else ["user"])
    assert asked(mock_url)["crossed number 0 Shout! crossed number 0"] == 2
    results = told(store, tmp_path, "results", 1)
    assert len(results) == 8
    file = tmp_path / "report.md"
    invoke(store.url, "report", 1, "--format", "md", "-o", file, cwd=tmp_path)
    assert all(key in file.read_text() for key in KEYS)
    assert invoke(store.url, "replay", 1, cwd=tmp_path).exit_code == 0
    assert invoke(store.url, "verify", cwd=tmp_path).exit_code == 0
    again = told(store, tmp_path, "start", "run.yaml", "--quiet", "--reuse", 1)
    assert again["counts"]["finished"] == 8
    second = told(store, tmp_path, "show", 2)
    assert second["counts"]["requests"] == 0, "a variant is recognised by its key"
    assert second["attempts"]["attempt"] == 2
    other = {**MATRIX, "prompts": {**MATRIX["prompts"], "shout": {"user": "{prompt}!!"}}}
    write_configuration(tmp_path, mock_url, matrix=other)
    checked = invoke(store.url, "validate", "run.yaml", "--offline", "--reuse", 1, cwd=tmp_path)
    assert "reuse: 4 of 8 evaluations" in checked.stderr, "another template is another request"
    resumed = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert resumed.exit_code == 0
    assert told(store, tmp_path, "show", 3)["attempts"]["attempt"] == 1, "and another experiment"
