"""Whoever asks the same again is counted, whatever they change that does not matter."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import begin, invoke, write_suite
from tests.acceptance.recording import Recording, recorded_once

CASES = 8
VERIFIER = Path(__file__).parents[3] / "docs" / "reference" / "verify_evidence.py"
Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def recording(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    mock_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Recording:
    """Run 1, the first attempt of everything."""

    def record(url: str, folder: Path) -> None:
        write_suite(folder, CASES)
        started(url, folder, mock_url)

    return recorded_once(postgres_server, migrated_database, tmp_path_factory, record)


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_database: str) -> str:
    if "first" not in request.fixturenames:
        return migrated_database
    recording: Recording = request.getfixturevalue("recording")
    return recording.database


@pytest.fixture
def database_url(store: Store) -> str:
    """The log of each test."""
    return store.url


@pytest.fixture
def first(recording: Recording, store: Store, folder: Path, home: Path) -> dict[str, Any]:
    """The test's log holds run 1; what `show` says of it."""
    recording.copy_files(home, folder)
    return shown(store.url, folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_suite(tmp_path, CASES)
    return tmp_path


def started(database_url: str, folder: Path, mock_url: str, **sections: Any) -> dict[str, Any]:
    """Run a configuration with these sections changed; what `show` says of the run."""
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
    invoke(database_url, "start", "run.yaml", "--quiet", "--allow-unlisted", cwd=folder, **key)
    return shown(database_url, folder)


@pytest.fixture
def start(folder: Path, database_url: str, mock_url: str) -> Run:
    """`started` in the test's own log and folder."""
    return partial(started, database_url, folder, mock_url)


def shown(database_url: str, folder: Path, run: object = "latest") -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        invoke(database_url, "show", run, "--json", cwd=folder).stdout
    )
    return document


def rewrite(folder: Path, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
    file = folder / "suite.jsonl"
    cases = change([orjson.loads(line) for line in file.read_bytes().splitlines()])
    file.write_bytes(b"\n".join(map(orjson.dumps, cases)))


def test_whoever_asks_the_same_again_begins_the_second_attempt_whatever_else_they_change(
    first: dict[str, Any], start: Run, folder: Path
) -> None:
    """Names, notes and order of the cases, their file, the seed, how they are asked and judged."""
    assert (first["attempts"]["attempt"], first["attempts"]["attempts"]) == (1, 1)
    rewrite(
        folder,
        lambda cases: [
            {**case, "suite_id": "x", "case_id": case["case_id"] * 2, "note": "new", "tags": ["t"]}
            for case in reversed(cases)
        ],
    )
    (folder / "elsewhere").mkdir()
    (folder / "suite.jsonl").rename(folder / "elsewhere" / "another.jsonl")
    second = start(
        prompts={"path": "elsewhere/another.jsonl"},
        test_run={"name": "fresh"},
        execution={"retry_delay_ms": 11, "repetitions": 2},
        gates={},
        models=[{"model": "mock", "seed": 3, "stream": True}],
    )
    assert (second["attempts"]["attempt"], second["attempts"]["attempts"]) == (2, 2)
    (other,) = second["attempts"]["others"]
    assert (other["run_number"], other["status"], other["name"]) == (1, "completed", "first")
    assert other["scored"] == CASES
    assert second["attempts"]["overlapping"] == []


def fewer(folder: Path) -> dict[str, Any]:
    rewrite(folder, lambda cases: cases[1:])
    return {}


def replaced_and_padded(folder: Path) -> dict[str, Any]:
    """Half of the cases, with easier expectations, and as many others beside them as there were."""

    def change(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
        easier = [{**case, "expected_response": "n"} for case in cases[:4]]
        others = [
            {**case, "case_id": f"{case['case_id']}-other", "prompt": f"P{case['prompt']}"}
            for case in cases
        ]
        return easier + others

    rewrite(folder, change)
    return {}


OVERLAPPING: dict[str, tuple[Callable[[Path], dict[str, Any]], int]] = {
    "other cases": (replaced_and_padded, CASES // 2),
    "another parameter": (lambda _: {"models": [{"model": "mock", "max_tokens": 999}]}, CASES),
}


@pytest.mark.slow
@pytest.mark.usefixtures("first")
@pytest.mark.parametrize(("change", "shared"), OVERLAPPING.values(), ids=OVERLAPPING)
def test_whoever_asks_much_of_the_same_has_that_beside_the_attempt(
    change: Callable[[Path], dict[str, Any]], shared: int, start: Run, folder: Path
) -> None:
    second = start(**change(folder))
    assert (second["attempts"]["attempt"], second["attempts"]["attempts"]) == (1, 1)
    (other,) = second["attempts"]["overlapping"]
    assert (other["run_number"], other["shared_cases"]) == (1, shared)


@pytest.mark.usefixtures("first")
def test_window_a_model_by_another_name_is_another_model(start: Run) -> None:
    """What answers says who it is, and the report has that; the name asked for is another one."""
    second = start(models=[{"model": "mock-latest"}])["attempts"]
    assert (second["attempt"], second["overlapping"]) == (1, [])


@pytest.mark.usefixtures("first")
def test_a_branch_is_an_attempt_of_the_same_experiment_and_diff_finds_nothing(
    folder: Path, database_url: str
) -> None:
    done = invoke(database_url, "log", "1", "--limit", "1", "--format", "jsonl", cwd=folder)
    position = json.loads(done.stdout)["position"]
    invoke(database_url, "resume", "1", "--at", position, "--quiet", cwd=folder)
    branch = shown(database_url, folder)
    assert (branch["run_number"], branch["attempts"]["attempt"]) == (2, 2)
    assert (
        branch["attempts"]["experiment"] == shown(database_url, folder, 1)["attempts"]["experiment"]
    )
    found = json.loads(invoke(database_url, "diff", "1", "2", "--json", cwd=folder).stdout)
    assert (found["configuration"], found["models"]) == ([], [])
    assert found["same_experiment"] is True
    assert found["cases"] == {"same": CASES, "only_left": [], "only_right": [], "changed": []}


# -- what differs ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("first")
def test_diff_names_what_differs_and_nothing_else(
    start: Run, folder: Path, database_url: str
) -> None:

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
    sent, graded, noted = cases["changed"]
    assert "left_answers" not in noted and sent["left_expected"] == sent["right_expected"]
    assert graded["right_expected"] == ['contains "n"'] != graded["left_expected"]
    for side in ("left", "right"):
        (answer,) = graded[f"{side}_answers"]
        assert answer["model"] == "mock" and answer["answer"] and not answer["cut"]
    (results,) = found["results"]
    assert (results["left_scored"], results["right_scored"]) == (CASES, CASES - 1)
    assert results["pairs"] == CASES - 3, "a case with another name or note asks the same"
    assert {each["why"]: (each["left"], each["right"]) for each in results["unpaired"]} == {
        "sent another prompt under the same name": (1, 1),
        "graded otherwise": (1, 1),
        "asked in one only": (1, 0),
    }

    lines = invoke(database_url, "diff", "1", "2", "--format", "jsonl", cwd=folder).stdout
    kinds = [json.loads(line)["kind"] for line in lines.splitlines()]
    assert kinds == ["configuration"] * 3 + ["model"] * 2 + ["case"] * 6 + ["results"]
    table = invoke(database_url, "diff", "1", "2", cwd=folder).stdout
    assert "models[0].temperature" in table
    assert re.search(
        r'what grades it differs +- +- *\n +expected +contains ".*" → contains "n"', table
    )
    assert re.search(r"left asks .*\n +right asks +Say something else\. *\n +left +\w+: ", table)
    assert "a secret" not in said.output + lines + table


@pytest.mark.usefixtures("first")
def test_diff_of_what_is_no_run_exits_2(folder: Path, database_url: str) -> None:
    for arguments in (["1"], ["1", "7"], ["nothing", "1"], ["1", "1", "1"]):
        said = invoke(database_url, "diff", *arguments, cwd=folder)
        assert said.exit_code == 2 and said.output, arguments


# -- where it is said -----------------------------------------------------------------------------


@pytest.mark.slow
def test_runs_report_and_evidence_tell_the_other_attempts_and_what_overlaps(
    start: Run, folder: Path, database_url: str
) -> None:
    """A run that fails its gate; the same under another name with a lower one; one case less."""

    def said(*arguments: object) -> str:
        done = invoke(database_url, *arguments, cwd=folder)
        assert done.exit_code == 0, done.output
        return done.output

    rewrite(folder, lambda cases: [{**cases[0], "expected_response": "never"}, *cases[1:]])
    start()
    fewer(folder)
    start(gates={})
    rewrite(folder, lambda cases: [{**cases[0], "note": "fresh"}, *cases[1:]])
    start(test_run={"name": "fresh"}, gates={"min_accuracy": 0.1})

    rows = json.loads(said("runs", "--json"))
    assert [(row["attempt"], row["attempts"], row["overlapping"]) for row in rows] == [
        (2, 2, 1), (1, 2, 1), (1, 1, 0)
    ]  # fmt: skip
    assert [row["gates_met"] for row in rows] == [True, None, False]
    assert "2 of 2" in said("runs")
    table = said("show", "3")
    assert "2 of 2 of this experiment; 1 run overlaps with it" in table
    assert "runs that share many cases" in table

    document = json.loads(said("report", "3", "--format", "json", "-o", "-"))
    [asked] = [each["run"] for each in document["asked"]]
    assert (asked["attempts"]["attempt"], asked["attempts"]["attempts"]) == (2, 2)
    assert asked["attempts"]["overlapping"][0]["gates_met"] is False
    assert any("earlier attempt" in each for each in document["limitations"])
    page = said("report", "3", "--format", "md", "-o", "-")
    assert "Other attempts: runs of the same experiment" in page
    assert "Overlapping: runs that share many cases" in page

    said("ledger", "checkpoint")
    said("ledger", "key", "-o", "log.pub")
    said("evidence", "export", "3", "-o", "run.evidence")
    first = said("evidence", "verify", "run.evidence", "--key", "log.pub")
    second = subprocess.run(
        [sys.executable, "-I", VERIFIER, "run.evidence", "--key", "log.pub"],
        cwd=folder, capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    for verdict in (first, second):
        assert "attempt 2 of 2 of experiment" in verdict
        assert "attempt 1 was run 2" in verdict
        assert f"overlapping, with {CASES - 1} of the same cases: run 1" in verdict
        assert "gates not met" in verdict


@pytest.mark.usefixtures("first")
@pytest.mark.slow
def test_two_runs_that_begin_at_once_are_two_attempts(
    start: Run, folder: Path, database_url: str
) -> None:
    begun = [begin(database_url, "start", "run.yaml", "--quiet", cwd=folder) for _ in range(2)]
    for process in begun:
        process.communicate(timeout=120)
    rows = json.loads(invoke(database_url, "runs", "--json", cwd=folder).stdout)
    assert [(row["attempt"], row["attempts"]) for row in rows] == [(n, 3) for n in (3, 2, 1)]
    with psycopg.connect(database_url) as connection:
        started = connection.execute(
            "SELECT payload ->> 'attempt' FROM failproof.event_log WHERE event_type = 'RunStarted' "
            "ORDER BY position"
        ).fetchall()
    assert [int(attempt) for (attempt,) in started] == [1, 2, 3]
