"""Whoever asks the same again is counted, whatever they change that does not matter."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.acceptance.commands import invoke, write_suite

CASES = 8
Run = Callable[..., dict[str, Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_suite(tmp_path, CASES)
    return tmp_path


@pytest.fixture
def start(folder: Path, database_url: str, mock_url: str) -> Run:
    """Run a configuration with these sections changed; what `show` says of the run."""

    def run(**sections: Any) -> dict[str, Any]:
        models = sections.pop("models", [{"model": "mock"}])
        configuration = {
            "test_run": {"name": "first"},
            "models": [{"provider": "openai", "base_url": mock_url, **each} for each in models],
            "prompts": {"path": "suite.jsonl"},
            "execution": {"retry_attempts": 0, "retry_delay_ms": 10},
            "gates": {"min_accuracy": 1.0},
            **sections,
        }
        (folder / "run.yaml").write_text(json.dumps(configuration))
        key = {"MOCK_KEY": "a secret that nothing may show"}
        invoke(database_url, "start", "run.yaml", "--quiet", cwd=folder, **key)
        return shown(database_url, folder)

    return run


def shown(database_url: str, folder: Path, run: object = "latest") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        invoke(database_url, "show", run, "--json", cwd=folder).stdout
    )
    return document


def rewrite(folder: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    file = folder / "suite.jsonl"
    cases = change([orjson.loads(line) for line in file.read_bytes().splitlines()])
    file.write_bytes(b"\n".join(map(orjson.dumps, cases)))


def copied(folder: Path) -> dict[str, Any]:
    (folder / "elsewhere").mkdir()
    shutil.copy(folder / "suite.jsonl", folder / "elsewhere" / "another.jsonl")
    return {"prompts": {"path": "elsewhere/another.jsonl"}}


def noted(folder: Path) -> dict[str, Any]:
    rewrite(folder, lambda cases: [{**case, "note": "new", "tags": ["t"]} for case in cases])
    return {}


def renamed(folder: Path) -> dict[str, Any]:
    rewrite(
        folder, lambda cases: [{**c, "suite_id": "x", "case_id": c["case_id"] * 2} for c in cases]
    )
    return {}


def reordered(folder: Path) -> dict[str, Any]:
    rewrite(folder, lambda cases: cases[::-1])
    return {}


AGAIN: dict[str, Callable[[Path], dict[str, Any]]] = {
    "the same": lambda _: {},
    "another name": lambda _: {"test_run": {"name": "fresh"}},
    "another delay": lambda _: {"execution": {"retry_delay_ms": 11}},
    "a loosened gate": lambda _: {"gates": {"min_accuracy": 0.1}},
    "no gate": lambda _: {"gates": {}},
    "more repetitions": lambda _: {"execution": {"repetitions": 2}},
    "another seed": lambda _: {"models": [{"model": "mock", "seed": 3}]},
    "an address written otherwise": lambda _: {"models": [{"model": "mock", "stream": True}]},
    "the cases reordered": reordered,
    "the case file copied": copied,
    "the cases annotated": noted,
    "the cases renamed": renamed,
}


@pytest.mark.parametrize("change", AGAIN.values(), ids=AGAIN)
def test_whoever_asks_the_same_again_begins_the_second_attempt(
    change: Callable[[Path], dict[str, Any]], start: Run, folder: Path
) -> None:
    first = start()
    assert (first["attempts"]["attempt"], first["attempts"]["attempts"]) == (1, 1)
    second = start(**change(folder))
    assert (second["attempts"]["attempt"], second["attempts"]["attempts"]) == (2, 2)
    (other,) = second["attempts"]["others"]
    assert (other["run_number"], other["status"], other["name"]) == (1, "completed", "first")
    assert other["scored"] == CASES
    assert second["attempts"]["overlapping"] == []


def fewer(folder: Path) -> dict[str, Any]:
    rewrite(folder, lambda cases: cases[1:])
    return {}


def easier(folder: Path) -> dict[str, Any]:
    rewrite(folder, lambda cases: [{**case, "expected_response": "n"} for case in cases])
    return {}


def replaced(folder: Path) -> dict[str, Any]:
    rewrite(
        folder, lambda cases: cases[:4] + [{**c, "prompt": "P" + c["prompt"]} for c in cases[4:]]
    )
    return {}


def padded(folder: Path) -> dict[str, Any]:
    def more(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
        padding = [
            {**case, "case_id": f"{case['case_id']}-{n}", "prompt": f"{n} {case['prompt']}"}
            for case in cases
            for n in range(3)
        ]
        return cases + padding

    rewrite(folder, more)
    return {}


OVERLAPPING: dict[str, tuple[Callable[[Path], dict[str, Any]], int]] = {
    "a case less": (fewer, CASES - 1),
    "easier expectations": (easier, CASES),
    "half of the cases replaced": (replaced, CASES // 2),
    "many cases more": (padded, CASES),
    "another parameter": (lambda _: {"models": [{"model": "mock", "max_tokens": 999}]}, CASES),
    "a model more": (lambda _: {"models": [{"model": "mock"}, {"model": "mock2"}]}, CASES),
}


@pytest.mark.parametrize(("change", "shared"), OVERLAPPING.values(), ids=OVERLAPPING)
def test_whoever_asks_much_of_the_same_has_that_beside_the_attempt(
    change: Callable[[Path], dict[str, Any]], shared: int, start: Run, folder: Path
) -> None:
    start()
    second = start(**change(folder))
    assert (second["attempts"]["attempt"], second["attempts"]["attempts"]) == (1, 1)
    (other,) = second["attempts"]["overlapping"]
    assert (other["run_number"], other["shared_cases"]) == (1, shared)


def test_window_a_model_by_another_name_is_another_model(start: Run) -> None:
    """What answers says who it is, and the report has that; the name asked for is another one."""
    start()
    second = start(models=[{"model": "mock-latest"}])["attempts"]
    assert (second["attempt"], second["overlapping"]) == (1, [])


def test_a_branch_is_an_attempt_of_the_same_experiment(
    start: Run, folder: Path, database_url: str
) -> None:
    start()
    done = invoke(database_url, "log", "1", "--limit", "1", "--format", "jsonl", cwd=folder)
    position = json.loads(done.stdout)["position"]
    invoke(database_url, "resume", "1", "--at", position, "--quiet", cwd=folder)
    branch = shown(database_url, folder)
    assert (branch["run_number"], branch["attempts"]["attempt"]) == (2, 2)
    assert (
        branch["attempts"]["experiment"] == shown(database_url, folder, 1)["attempts"]["experiment"]
    )


# -- what differs ---------------------------------------------------------------------------------


def test_diff_names_what_differs_and_nothing_else(
    start: Run, folder: Path, database_url: str
) -> None:
    start()

    def change(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
        cases[1]["prompt"] = "Say something else."
        cases[2]["expected_response"] = "n"
        cases[3]["note"] = "checked"
        cases[4]["case_id"] = "another"
        return cases[1:]

    rewrite(folder, change)
    start(
        models=[{"model": "mock", "temperature": 1.0, "api_key_env": "MOCK_KEY"}],
        gates={"min_accuracy": 0.5},
    )
    said = invoke(database_url, "diff", "1", "2", "--json", cwd=folder)
    found = json.loads(said.stdout)
    assert found["same_experiment"] is False
    told = {each["path"]: (each["left"], each["right"]) for each in found["configuration"]}
    assert told == {
        "models[0].temperature": (0.0, 1.0),
        "models[0].api_key_env": (None, "MOCK_KEY"),
        "gates.min_accuracy": (1.0, 0.5),
    }
    models = {each["path"]: (each.get("left"), each["right"]) for each in found["models"]}
    assert models == {
        "mock.parameters.temperature": (0.0, 1.0),
        "mock.settings.api_key_env": (None, "MOCK_KEY"),
    }
    cases = found["cases"]
    assert cases["same"] == CASES - 5
    assert [each["case"] for each in cases["only_left"]] == ["case-00000", "case-00004"]
    assert [each["case"] for each in cases["only_right"]] == ["another"]
    assert [(each["case"], each["differs"]) for each in cases["changed"]] == [
        ("case-00001", "what is sent"),
        ("case-00002", "what grades it"),
        ("case-00003", "what is noted"),
    ]
    (results,) = found["results"]
    assert (results["left_scored"], results["right_scored"]) == (CASES, CASES - 1)

    lines = invoke(database_url, "diff", "1", "2", "--format", "jsonl", cwd=folder).stdout
    kinds = [json.loads(line)["kind"] for line in lines.splitlines()]
    assert kinds == ["configuration"] * 3 + ["model"] * 2 + ["case"] * 6 + ["results"]
    table = invoke(database_url, "diff", "1", "2", cwd=folder).stdout
    assert "models[0].temperature" in table
    assert "what grades it differs" in table
    assert "a secret" not in said.output + lines + table


def test_diff_of_the_same_twice_finds_nothing(start: Run, folder: Path, database_url: str) -> None:
    start()
    start()
    found = json.loads(invoke(database_url, "diff", "1", "2", "--json", cwd=folder).stdout)
    assert (found["configuration"], found["models"]) == ([], [])
    assert found["same_experiment"] is True
    assert found["cases"] == {"same": CASES, "only_left": [], "only_right": [], "changed": []}


@pytest.mark.parametrize("arguments", [["1"], ["1", "7"], ["nothing", "1"], ["1", "1", "1"]])
def test_diff_of_what_is_no_run_exits_2(
    arguments: list[str], start: Run, folder: Path, database_url: str
) -> None:
    start()
    said = invoke(database_url, "diff", *arguments, cwd=folder)
    assert said.exit_code == 2
    assert said.output
