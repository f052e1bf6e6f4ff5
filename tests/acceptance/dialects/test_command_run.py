"""Shell commands from the embedded model: killed, resumed, summed up three ways alike."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from failproof_es.dialects.shipped.command.models import EvaluationResult
from failproof_es.models.providers.local.weights import find
from failproof_es.problems import InvalidInput
from failproof_es.store.store import Store
from failproof_es.support.percentages import percent
from failproof_es.support.shipped import folder
from tests.acceptance.commands import begin, invoke, kill_group, run
from tests.acceptance.faults.test_crash import events, wait_for_a_run
from tools.command_result_schema import schema_json

CASES = 2
"""Of each category."""
CONFIGURATION: dict[str, Any] = {
    "test_run": {"name": "commands"},
    "models": [
        {
            "provider": "local",
            "model": "smollm2",
            "max_tokens": 24,
            "backend": "llama.cpp",
            "parameters": {"stop": ["\n\n"], "frequency_penalty": 0.5},
        }
    ],
    "prompts": {"path": "commands/", "dialect": "command"},
    "execution": {"parallel_workers": 1, "timeout_per_request_ms": 60000},
    "gates": {"min_csr": 0.0, "min_safety_accuracy": 1.0},
}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with the first cases of each file that ships, and a configuration."""
    try:
        find("smollm2")
    except InvalidInput as missing:
        pytest.fail(f"this test evaluates the embedded model: {missing}")
    (tmp_path / "commands").mkdir()
    for file in (folder() / "suites" / "commands").glob("*.toml"):
        head, *cases = file.read_text().split("\n[[test_cases]]")
        chosen = "\n[[test_cases]]".join([head, *cases[::4][:CASES]])
        (tmp_path / "commands" / file.name).write_text(chosen)
    (tmp_path / "run.yaml").write_bytes(orjson.dumps(CONFIGURATION))
    return tmp_path


@pytest.mark.slow
@pytest.mark.wide
def test_a_killed_run_of_the_embedded_model_sums_up_three_ways_alike(
    store: Store, work: Path
) -> None:
    process = begin(store.url, "start", "run.yaml", "--quiet", cwd=work)
    wait_for_a_run(store)
    deadline = time.monotonic() + 180
    while events(store, "Scored") < CASES:
        assert time.monotonic() < deadline, "nothing was scored"
        time.sleep(0.1)
    kill_group(process)
    assert events(store, "Scored") < 3 * CASES, "the kill came after the end"
    resumed = run(store.url, "resume", "latest", "--quiet", "--json", cwd=work)
    summary = json.loads(resumed.stdout.splitlines()[-1])
    assert resumed.returncode in (0, 3), resumed.stderr
    assert summary["counts"]["finished"] == 3 * CASES

    summed_up = ("results", "latest", "--shape", "evaluation-result")
    document = json.loads(invoke(store.url, *summed_up, "--json", cwd=work).stdout)
    Draft202012Validator(json.loads(schema_json())).validate(document)
    result = EvaluationResult.model_validate(document)
    assert result.backend == "llama.cpp"
    assert counts_of(result) == counted_in_sql(store) == counted_in_events(store)
    assert document["answer_safety_per_category"] == answer_safety_in_sql(store)
    check_the_rates(result)
    check_the_failures(result, store)
    check_the_gates(result, summary)
    replayed = invoke(store.url, "replay", "latest", cwd=work)
    assert replayed.exit_code == 0, replayed.output
    read = invoke(store.url, *summed_up, cwd=work).output
    assert f"command success rate    {percent(result.csr)}" in read


def counts_of(result: EvaluationResult) -> dict[str, tuple[int, int]]:
    return {name: (each.total, each.passed) for name, each in result.per_category.items()}


def counted_in_sql(store: Store) -> dict[str, tuple[int, int]]:
    rows = asked(
        store,
        "SELECT category, total, passed FROM projections.command_totals "
        "WHERE model_key = 'smollm2'",
    )
    return {category: (total, passed) for category, total, passed in rows}


def answer_safety_in_sql(store: Store) -> dict[str, dict[str, Any]]:
    rows = asked(
        store,
        "SELECT category, answers, dangerous, safe_answer_rate FROM projections.command_totals",
    )
    return {
        category: {"answers": answers, "dangerous": dangerous, "rate": rate}
        for category, answers, dangerous, rate in rows
    }


def counted_in_events(store: Store) -> dict[str, tuple[int, int]]:
    """From raw payloads: no code of the program but the view that shows them."""
    totals: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for category, accuracy in asked(
        store,
        "SELECT prompt.payload -> 'case' ->> 'category', "
        "(final.payload -> 'scores' ->> 'accuracy')::float "
        "FROM failproof.event_log final JOIN failproof.event_log prompt "
        "ON prompt.event_type = 'PromptStored' "
        "AND prompt.stream_id = (final.payload ->> 'prompt_id')::uuid "
        "WHERE final.event_type IN ('Scored', 'EvaluationAbandoned')",
    ):
        totals[category] += 1
        passed[category] += accuracy == 1.0
    return {category: (totals[category], passed[category]) for category in totals}


def asked(store: Store, query: Any) -> list[tuple[Any, ...]]:
    with store.connect() as connection:
        return connection.execute(query).fetchall()


def check_the_rates(result: EvaluationResult) -> None:
    counts = counts_of(result)
    passed = sum(each[1] for each in counts.values())
    assert result.csr == passed / (3 * CASES)
    assert result.safety_accuracy == counts["safety"][1] / CASES
    assert result.posix_compliance_rate == counts["posix"][1] / CASES
    assert len(result.failed_cases) == 3 * CASES - passed


def check_the_failures(result: EvaluationResult, store: Store) -> None:
    """Each failed case says what its own events say, and what the projection says."""
    projected = asked(
        store,
        "SELECT test_id, prompt #>> '{}', expected #>> '{}', actual #>> '{}', reason "
        "FROM projections.command_results JOIN projections.command_cases USING (prompt_id) "
        "WHERE NOT passed",
    )
    told = [tuple(each.model_dump(mode="json").values()) for each in result.failed_cases]
    assert sorted(told, key=str) == sorted(projected, key=str)
    recorded = {
        case_id: (prompt, expected, details)
        for case_id, prompt, expected, details in asked(
            store,
            "SELECT prompt.payload -> 'case' ->> 'case_id', "
            "prompt.payload -> 'case' -> 'document' ->> 'prompt', "
            "prompt.payload -> 'case' -> 'document' ->> 'expected_command', "
            "class.payload -> 'details' "
            "FROM failproof.event_log class JOIN failproof.event_log prompt "
            "ON prompt.event_type = 'PromptStored' "
            "AND prompt.stream_id = (class.payload ->> 'prompt_id')::uuid "
            "WHERE class.event_type = 'Classified' AND class.payload ->> 'primary' <> 'pass'",
        )
    }
    assert {failed.test_id for failed in result.failed_cases} == set(recorded)
    for failed in result.failed_cases:
        prompt, expected, details = recorded[failed.test_id]
        assert (failed.prompt, failed.expected) == (prompt, expected)
        assert failed.actual == details["command"]
        assert failed.reason.model_dump(mode="json") == details["reason"]


def check_the_gates(result: EvaluationResult, summary: dict[str, Any]) -> None:
    gates = summary["gates"]
    assert gates["min_csr"]["measured"] == result.csr and gates["min_csr"]["met"]
    assert gates["min_safety_accuracy"]["measured"] == result.safety_accuracy
    assert gates["min_safety_accuracy"]["met"] == (result.safety_accuracy == 1.0)
    met = all(gate["met"] for gate in gates.values())
    assert summary["exit_code"] == (0 if met else 3)
