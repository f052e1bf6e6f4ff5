"""Every place that shows a run says the same of it: what passed, what was lost, what it cost.

Of each dialect a run is made in which something passes, something fails and something is never
answered. What is expected is written down with the cases; what is shown is read from the
commands, the files and SQL.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, mock_server
from tests.acceptance.dialects.test_redteam import written_case
from tests.acceptance.recording import Recording, recorded_once
from tests.servers.benchmark_server import judge_says

PRICES: dict[str, Any] = {
    "version": "2026-11-01",
    "models": [{"model": "m", "input_usd_per_million": 1000, "output_usd_per_million": 1000}],
}


def answered(text: str) -> str:
    """What makes the mock say that."""
    return f"[answer:{b64encode(text.encode()).decode()}]"


@dataclass(frozen=True, slots=True)
class ExpectedRun:
    """How a run must stand, whoever tells it."""

    passed: int
    failed: int
    lost: int = 0

    @property
    def finished(self) -> int:
        return self.passed + self.failed + self.lost


def failproof(folder: Path) -> ExpectedRun:
    cases = [
        ("a", "yes", "yes", "pass"),  # is what is wanted
        ("b", "no", "yes", "pass"),  # is not
        ("c", "no", "yes", "fail"),  # is not, as the case expects: it passes
        ("d", "yes", "yes", "fail"),  # is, against what the case expects: it fails
        ("e", "I can't help with that.", "yes", "pass"),  # refuses
        ("f", None, "yes", "pass"),
    ]
    with (folder / "suite.jsonl").open("wb") as file:
        for name, says, wants, expects in cases:
            asks = "[fault:http400]" if says is None else answered(says)
            case = {
                "case_id": name, "suite_id": "s", "prompt": f"{name} {asks}",
                "expected_response": wants, "expected_classification": expects,
            }  # fmt: skip
            file.write(orjson.dumps(case) + b"\n")
    return ExpectedRun(passed=2, failed=3, lost=1)


def promptguard(folder: Path) -> ExpectedRun:
    high = '{"T": 0.1, "I": 0.1, "F": 0.9, "reasoning": "r"}'
    low = '{"T": 0.9, "I": 0.1, "F": 0.0, "reasoning": "r"}'
    asks = [("a", answered(high)), ("b", answered(low)), ("c", answered(high))]
    with (folder / "suite.jsonl").open("wb") as file:
        for name, ask in [*asks, ("d", "[fault:http400]")]:
            prompt = {
                "prompt_id": name, "content": f"{name} {ask}", "category": "c",
                "expected_label": "manipulative", "source": "test",
                "created_at": "2026-11-21T08:00:00Z",
            }  # fmt: skip
            file.write(orjson.dumps(prompt) + b"\n")
    return ExpectedRun(passed=2, failed=1, lost=1)


def command(folder: Path) -> ExpectedRun:
    parts = ['version = "1.0.0"']
    for name, ask in (
        ("a", answered("ls -la")), ("b", answered("pwd")), ("c", "[fault:http400]"),
    ):  # fmt: skip
        parts.append(
            f'[[test_cases]]\nid = "{name}"\nprompt = "{name} {ask}"\nexpected_command = "ls -la"\n'
            'category = "correctness"\nsafe = true\nposix_compliant = true\n'
        )
    (folder / "suite.toml").write_text("\n".join(parts))
    return ExpectedRun(passed=1, failed=1, lost=1)


def benchmark(folder: Path) -> ExpectedRun:
    answers = {name: f"{name} text" for name in ("most_expected", "good_answer", "pass_option")}

    def graded(score: float) -> str:
        return judge_says(json.dumps({"score": score, "reason": "so it is"}))

    asks = [("a", graded(0.6)), ("b", graded(0.5)), ("c", graded(0.49)), ("d", "[http:400]")]
    tasks = [
        {
            "task_id": name, "question": f"{name} {ask}?", "expected_answer": answers,
            "incorrect_direction": "wrong",
        }
        for name, ask in asks
    ]  # fmt: skip
    (folder / "suite.yaml").write_bytes(orjson.dumps(tasks))
    return ExpectedRun(passed=2, failed=1, lost=1)


def redteam(folder: Path) -> ExpectedRun:
    numbers = (1, 2, 5)  # the fifth does what is forbidden
    cases = [written_case(number) for number in numbers]
    broken = written_case(4)
    broken["turns"][0]["content"] = "[broken]"
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, [*cases, broken])))
    return ExpectedRun(passed=2, failed=1, lost=1)


def checks(folder: Path) -> ExpectedRun:
    asks = [("a", answered("yes")), ("b", answered("no")), ("c", "[fault:http400]")]
    with (folder / "suite.jsonl").open("wb") as file:
        for name, ask in asks:
            case = {
                "id": name, "suite": "s", "messages": [{"role": "user", "content": ask}],
                "checks": [{"kind": "contains", "values": ["yes"]}],
            }  # fmt: skip
            file.write(orjson.dumps(case) + b"\n")
    return ExpectedRun(passed=1, failed=1, lost=1)


Dialect = Callable[[Path], ExpectedRun]
DIALECTS: list[Dialect] = [failproof, promptguard, command, benchmark, redteam, checks]


@pytest.fixture(scope="module")
def servers(mock_url: str, judging_url: str) -> Iterator[dict[str, str]]:
    with mock_server(0, "tests.servers.benchmark_server") as judged:
        yield {
            "failproof": mock_url, "promptguard": mock_url, "command": mock_url,
            "benchmark": judged, "redteam": judging_url, "checks": mock_url,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of one dialect, and how it must stand."""

    url: str
    folder: Path
    wanted: ExpectedRun
    output: str

    def printed(self, *arguments: str) -> Any:
        done = invoke(self.url, *arguments, cwd=self.folder)
        assert done.exit_code in (0, 3), done.output
        return json.loads(done.stdout)


@pytest.fixture(scope="module", params=DIALECTS, ids=[each.__name__ for each in DIALECTS])
def recorded(
    request: pytest.FixtureRequest,
    servers: dict[str, str],
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Recording, ExpectedRun, str]:
    """A run of each dialect, how it must stand, and what was said of it at its end."""
    written: Dialect = request.param
    found: list[tuple[ExpectedRun, str]] = []

    def record(url: str, folder: Path) -> None:
        wanted = written(folder)
        name = written.__name__
        model = {"provider": "openai", "base_url": servers[name]}
        judge = {"judge": {**model, "model": "judge"}} if name in ("benchmark", "redteam") else {}
        (suite,) = folder.glob("suite.*")
        configuration = {
            "test_run": {"name": name},
            "models": [{**model, "model": "m"}],
            **judge,
            "prompts": {"path": suite.name, "dialect": name},
            "execution": {"parallel_workers": 4, "retry_attempts": 1, "retry_delay_ms": 1},
            "prices": PRICES,
            "gates": {"max_unscored_rate": 1.0},
        }
        (folder / "run.yaml").write_bytes(orjson.dumps(configuration))
        done = invoke(
            url, "start", "run.yaml", "--junit", "run.xml", "--allow-unlisted", cwd=folder
        )
        assert done.exit_code == 0, done.output
        found.append((wanted, done.output))

    recording = recorded_once(postgres_server, migrated_database, tmp_path_factory, record)
    return recording, *found[0]


@pytest.fixture
def template(request: pytest.FixtureRequest, migrated_database: str) -> str:
    if "ran" not in request.fixturenames:
        return migrated_database
    recording: Recording = request.getfixturevalue("recorded")[0]
    return recording.database


@pytest.fixture
def ran(
    recorded: tuple[Recording, ExpectedRun, str], store: Store, home: Path, tmp_path: Path
) -> Ran:
    """The run, in a log of the test's own."""
    recording, wanted, output = recorded
    recording.copy_files(home, tmp_path)
    return Ran(store.url, tmp_path, wanted, output)


@pytest.mark.thinned(fast=3, whole=6)
def test_every_place_says_the_same_of_what_passed(ran: Ran, store: Store) -> None:
    wanted = ran.wanted
    counts = {
        "planned": wanted.finished, "finished": wanted.finished,
        "scored": wanted.passed + wanted.failed, "abandoned": wanted.lost,
    }  # fmt: skip
    shown = ran.printed("show", "latest", "--json")
    assert {name: shown["counts"][name] for name in counts} == counts
    [row] = ran.printed("runs", "--json")
    [of_model] = row["passed"]
    assert (of_model["passed"], of_model["scored"]) == (wanted.passed, counts["scored"])
    report = ran.printed("report", "latest", "--format", "json", "-o", "-")
    [overall] = [each for each in report["groups"] if each["dimension"] == "overall"]
    assert (overall["rate"]["passed"], overall["rate"]["total"]) == (
        wanted.passed, counts["scored"],
    )  # fmt: skip
    evaluations = [
        each for each in ET.parse(ran.folder / "run.xml").iter("testcase")
        if not (each.get("classname") or "").endswith("gates")
    ]  # fmt: skip
    tags = [child.tag for each in evaluations for child in each if child.tag != "system-out"]
    assert tags.count("failure") == wanted.failed, tags
    assert tags.count("error") == wanted.lost, tags
    with store.connect() as connection:
        progress = connection.execute(
            "SELECT planned, scored, abandoned, passed, failed FROM projections.progress"
        ).fetchall()
        by_row = connection.execute(
            "SELECT count(*) FILTER (WHERE passed), count(*) FILTER (WHERE NOT passed), "
            "count(*) FILTER (WHERE passed IS NULL) FROM projections.run_results"
        ).fetchall()
    assert progress == [
        (wanted.finished, counts["scored"], wanted.lost, wanted.passed, wanted.failed)
    ]
    assert by_row == [(wanted.passed, wanted.failed, wanted.lost)]


def cost_of(ran: Ran, run: str) -> float | None:
    cost: float | None = ran.printed("show", run, "--json")["spending"]["cost_usd"]
    return cost


@pytest.mark.slow
@pytest.mark.thinned(fast=1, whole=2)
def test_the_prices_that_a_run_recorded_are_the_only_ones_that_count_for_it(
    ran: Ran, store: Store
) -> None:
    before = cost_of(ran, "latest")
    cheaper = {**PRICES["models"][0], "input_usd_per_million": 9}
    other = {"version": "2026-11-20", "models": [cheaper]}
    configuration = orjson.loads((ran.folder / "run.yaml").read_bytes())
    (ran.folder / "run.yaml").write_bytes(orjson.dumps({**configuration, "prices": other}))
    again = invoke(ran.url, "start", "run.yaml", "--allow-unlisted", cwd=ran.folder)
    assert again.exit_code == 0, again.output
    after, anew = (cost_of(ran, number) for number in ("1", "2"))
    assert before == after, "another run changed what this one cost"
    with store.connect() as connection:
        by_sql = connection.execute(
            "SELECT sum(c.cost_usd), bool_and(c.cost_usd IS NOT NULL) FROM projections.cost c "
            "JOIN projections.runs r USING (run_id) WHERE r.run_number = 1"
        ).fetchone()
    assert by_sql is not None
    known = float(by_sql[0]) if by_sql[1] else None
    assert before == known
    if known is not None:
        assert anew is not None and known > anew > 0
    listed = {row["run_number"]: row["cost_usd"] for row in ran.printed("runs", "--json")}
    assert listed == {1: before, 2: anew}
    report = ran.printed("report", "1", "--format", "json", "-o", "-")
    costs = [each["cost_usd"] for each in report["costs"]]
    assert (None if None in costs else pytest.approx(sum(costs))) == before
