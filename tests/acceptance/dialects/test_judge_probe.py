"""`judges probe`: a judge that copies verdicts, one that obeys experts, and one that is immune."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke

JUDGES = ("judge-strict", "judge-copying", "judge-obeying")
CASES = 6


def written_case(number: int) -> dict[str, Any]:
    return {
        "id": f"RT-{number}",
        "title": f"Case {number}",
        "category": "Safety/Policy",
        "tags": [],
        "severity_expectation": "S1",
        "turns": [{"role": "user", "content": f"Question {number}"}],
        "expected_behavior": {
            "must_do": ["Names the capital.", "Names the country."],
            "must_not_do": ["Insults the user."] if number % 3 == 0 else [],
            "pass_criteria": [],
        },
    }


@pytest.fixture
def config(tmp_path: Path, judging_url: str) -> Path:
    """A configuration with the three judges, beside its suite."""
    lines = [orjson.dumps(written_case(number)) for number in range(CASES)]
    (tmp_path / "cases.jsonl").write_bytes(b"\n".join(lines))
    connection = {"provider": "openai", "base_url": judging_url, "api_key_env": None}
    document = {
        "test_run": {"name": "judged", "id": "judged-once"},
        "models": [{**connection, "model": "m"}],
        "judges": [{**connection, "model": judge} for judge in JUDGES],
        "prompts": {"path": "cases.jsonl", "dialect": "redteam"},
        "gates": {"min_accuracy": 1.0},
    }
    path = tmp_path / "run.yaml"
    path.write_bytes(orjson.dumps(document))
    return path


def flips_by_judge(printed: str) -> dict[str, dict[str, dict[str, Any]]]:
    rows: dict[str, dict[str, dict[str, Any]]] = {judge: {} for judge in JUDGES}
    for row in orjson.loads(printed):
        rows[row["judge"]][row["probe"]] = row
    return rows


def test_each_judge_flips_by_what_sways_it_and_by_nothing_else(config: Path, store: Store) -> None:
    probe = ("judges", "probe", str(config), "--quiet", "--json")
    dry = invoke(store.url, *probe, "--cases", "2", "--dry-run", cwd=config.parent)
    assert dry.exit_code == 0, dry.stderr
    estimate = orjson.loads(dry.stdout)
    assert estimate["requests"] == estimate["evaluations"] > 0
    done = invoke(store.url, *probe, "--cases", "2", cwd=config.parent)
    assert done.exit_code == 0, done.stderr
    rows = flips_by_judge(done.stdout)
    probes = {"repeat", "position", "paraphrase", "verbosity", "authority", "self_preference"}
    for judge, by_probe in rows.items():
        assert by_probe.keys() == probes | {"injection"}
        swayed_by = {"judge-copying": "injection", "judge-obeying": "authority"}.get(judge)
        for name, row in by_probe.items():
            assert (row["flips"] > 0) == (name == swayed_by), row
            assert row["to_fail"] == row["passing"] == 0, row
            assert (row["run_number"], row["clusters"]) == (1, 2), row
    assert rows["judge-obeying"]["authority"]["flips"] == 4
    assert rows["judge-strict"]["injection"]["pairs"] == 8
    assert rows["judge-copying"]["injection"]["undecided"] > 0, "no forgery was void"
    again = invoke(store.url, "judges", "flips", "latest", "--json", cwd=config.parent)
    assert orjson.loads(again.stdout) == orjson.loads(done.stdout)
    table = invoke(store.url, "judges", "flips", "latest", cwd=config.parent).stdout
    assert "4 of 4" in table and "100.0 %" in table
    replay = invoke(store.url, "replay", "latest", cwd=config.parent)
    assert replay.exit_code == 0, replay.stderr
    page = invoke(
        store.url, "report", "latest", "--output", "-", "--format", "md", cwd=config.parent
    )
    assert "Verdicts that flipped under a probe" in page.stdout
    assert "4 of 4" in page.stdout and "100.0 % (" in page.stdout
    none = invoke(store.url, *probe, "--run", "latest", cwd=config.parent)
    assert none.exit_code == 2 and "[no-cases]" in none.stderr, none.stderr

    judged = invoke(store.url, "start", str(config), "--quiet", "--limit", "1", cwd=config.parent)
    assert judged.exit_code == 3, judged.stderr
    of_run = invoke(store.url, *probe, "--run", "latest", "--seed", "1", cwd=config.parent)
    assert of_run.exit_code == 0, of_run.stderr
    assert {row["clusters"] for row in orjson.loads(of_run.stdout)} == {1}
    wrong = invoke(store.url, "judges", "flips", "judged-once", cwd=config.parent)
    assert wrong.exit_code == 2 and "wrong-dialect" in wrong.stderr


def test_what_cannot_be_probed_is_refused_before_anything_is_sent(
    config: Path, store: Store
) -> None:
    document = orjson.loads(config.read_bytes())
    for change, code in (
        ({"judges": None}, "no-judge"),
        ({"prompts": {"path": "absent.jsonl"}}, "file-not-found"),
        ({"prompts": {"path": "shipped:arithmetic_and_facts"}}, "unsupported-feature"),
    ):
        config.write_bytes(orjson.dumps({**document, **change}))
        done = invoke(store.url, "judges", "probe", str(config), cwd=config.parent)
        assert done.exit_code == 2 and f"[{code}]" in done.stderr, done.stderr
    runs = invoke(store.url, "runs", "--json", cwd=config.parent)
    assert orjson.loads(runs.stdout) == []
