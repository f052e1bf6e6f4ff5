"""Every surface says what the raw events say, of three runs whose truth is known."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import orjson
import pyarrow.parquet
import pytest

from failproof_es.store.embedded.server import EmbeddedServer
from failproof_es.store.schema.installation import WRITER
from tests.acceptance.commands import invoke
from tests.acceptance.recomputation import recompute
from tests.acceptance.recomputation.recompute import Evaluation, Rate, Run, close
from tests.acceptance.recomputation.truth_server import judged_case, plain_case, serving
from tests.conftest import create_database, database_url_as, drop_database, home_of
from tests.console import console, settings_for

pytestmark = pytest.mark.slow
CASES = 20
KNOWN_ANSWERS, OTHER_MODELS, JUDGED = 1, 2, 3
"""Numbers of the runs."""
RUNS = (KNOWN_ANSWERS, OTHER_MODELS, JUDGED)
PRICES = {
    "version": "2026-11-21",
    "models": [
        {"model": model, "input_usd_per_million": 1.5, "output_usd_per_million": 6}
        for model in ("alpha", "gamma", "judge-a")
    ],
}


@dataclass(frozen=True)
class Recorded:
    """Three runs in one log."""

    url: str
    folder: Path
    runs: Mapping[int, Run]
    truths: Mapping[tuple[str, str], int]
    base: str
    """The URL of a console over them."""
    printed: dict[tuple[str, ...], str] = field(default_factory=dict)
    """By the command."""

    def json(self, *command: str) -> Any:
        if command not in self.printed:
            done = invoke(self.url, *command, cwd=self.folder)
            assert done.exit_code == 0, done.output
            self.printed[command] = done.stdout
        return orjson.loads(self.printed[command])

    def page(self, path: str) -> Any:
        reply = httpx.get(f"{self.base}{path}", timeout=60)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def exported(self, run: int, shape: str) -> Path:
        folder = self.folder / f"{shape}-{run}"
        if not folder.exists():
            self.json("export", str(run), "--shape", shape, "-o", str(folder), "--json")
        return folder


def write_files(folder: Path, url: str) -> None:
    """Two suites and three configurations, `1.yaml` to `3.yaml`."""
    for name, case in (("plain", plain_case), ("judged", judged_case)):
        cases = [orjson.dumps(case(number)) for number in range(1, CASES + 1)]
        (folder / f"{name}.jsonl").write_bytes(b"\n".join(cases))
    for run, models, judges, suite, dialect in (
        (KNOWN_ANSWERS, ("alpha", "beta"), (), "plain", "failproof"),
        (OTHER_MODELS, ("alpha", "beta"), (), "plain", "failproof"),
        (JUDGED, ("gamma", "delta"), ("judge-a", "judge-b", "judge-c"), "judged", "redteam"),
    ):
        configuration = {
            "test_run": {"name": f"truth-{run}"},
            "models": [{"provider": "openai", "base_url": url, "model": each} for each in models],
            "prompts": {"path": f"{suite}.jsonl", "dialect": dialect},
            "execution": {
                "parallel_workers": 4, "retry_attempts": 0, "retry_delay_ms": 5, "repetitions": 2,
            },
            "prices": PRICES,
        }  # fmt: skip
        if judges:
            configuration["judges"] = [
                {"provider": "openai", "base_url": url, "model": each} for each in judges
            ]
        (folder / f"{run}.yaml").write_bytes(orjson.dumps(configuration))


@pytest.fixture(scope="module")
def recorded(
    postgres_server: EmbeddedServer,
    migrated_database: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("recomputation")
    create_database(postgres_server, folder.name, migrated_database)
    url = database_url_as(postgres_server, folder.name, WRITER)
    with home_of(folder):
        with serving() as (truth, models):
            write_files(folder, models)
            for run in RUNS:
                done = invoke(url, "start", f"{run}.yaml", "--quiet", cwd=folder)
                assert done.exit_code in (0, 3), done.output
        runs = {
            run: recompute.read_run(url, orjson.loads(
                invoke(url, "show", str(run), "--json", cwd=folder).stdout
            )["run_id"])
            for run in RUNS
        }  # fmt: skip
        with console(**settings_for(url)) as base:
            yield Recorded(url, folder, runs, dict(truth.truths), base)
    drop_database(postgres_server, folder.name)


@pytest.fixture(params=RUNS)
def number(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def run(recorded: Recorded, number: int) -> Run:
    return recorded.runs[number]


def of(run: Run, model: str) -> list[Evaluation]:
    return [each for each in run.evaluations if each.model == model]


def test_the_program_alone_prints_the_numbers(recorded: Recorded) -> None:
    run = recorded.runs[KNOWN_ANSWERS]
    done = subprocess.run(
        [sys.executable, "-I", recompute.__file__, recorded.url, run.run_id],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == json.loads(json.dumps(recompute.document(run)))


def test_the_truth_is_what_the_server_answered(recorded: Recorded) -> None:
    for model in ("alpha", "beta"):
        evaluations = [each for run in (1, 2) for each in of(recorded.runs[run], model)]
        known = {kind: count for (name, kind), count in recorded.truths.items() if name == model}
        assert sum(each.passed is True for each in evaluations) == known["right"]
        failed = known["wrong"] + known["refused"]
        assert sum(each.passed is False for each in evaluations) == failed
        assert sum(each.is_lost for each in evaluations) == known["refused request"]
        unscored = known["cut off"] + known["withheld"] + known["refused request"]
        assert sum(each.passed is None for each in evaluations) == unscored
        assert min(known.values()) > 0, "every kind of answer occurs"


def test_every_verdict_is_that_of_the_raw_reply(run: Run) -> None:
    assert recompute.disagreements(run) == []
    assert {each.passed for each in run.evaluations} == {True, False, None}


def test_show(recorded: Recorded, run: Run, number: int) -> None:
    shown = recorded.json("show", str(number), "--json")
    rates = recompute.rates(run)
    assert {row["model"] for row in shown["by_model"]} == set(run.models)
    for row in shown["by_model"]:
        expected = recompute.counts(of(run, row["model"]))
        assert {name: row["counts"][name] for name in ("scored", "passed", "failed", "lost")} == {
            name: expected[name] for name in ("scored", "passed", "failed", "lost")
        }
        assert row["counts"]["finished"] == expected["planned"]
        assert row["unscored"] == recompute.unscored(of(run, row["model"]))
        rate, accuracy = rates["overall", "all cases", row["model"]], row["accuracy"]
        assert_accuracy(accuracy["by_case"], accuracy["by_case_bounds"], rate)
        assert_bounds(row["passed"]["bounds"], rate)
        suites = [rate for (kind, _, model), rate in rates.items()
                  if kind == "suite" and model == row["model"]]  # fmt: skip
        assert close(accuracy["mean_of_suites"], sum(each.value for each in suites) / len(suites))
        least, most = accuracy["mean_of_suites_bounds"]
        assert close(least, sum(each.least for each in suites) / len(suites))
        assert close(most, sum(each.most for each in suites) / len(suites))
    assert shown["unscored"] == recompute.unscored(run.evaluations)
    found = {(row["suite"], row["model"]): row for row in shown["by_suite"]}
    expected_suites = {
        (name, model): rate for (kind, name, model), rate in rates.items() if kind == "suite"
    }
    assert set(found) == set(expected_suites)
    for key, rate in expected_suites.items():
        row = found[key]
        assert (row["passed"]["passed"], row["scored"]) == (rate.passed, rate.scored)
        assert_accuracy(row["accuracy"], row["accuracy_bounds"], rate)
        assert_bounds(row["passed"]["bounds"], rate)


def assert_accuracy(shown: float, bounds: Sequence[float] | None, rate: Rate) -> None:
    assert close(shown, rate.value)
    assert_bounds(bounds, rate)


def assert_bounds(shown: Sequence[float] | None, rate: Rate) -> None:
    """Bounds are shown where something has no score."""
    if rate.unscored == 0:
        assert shown is None
    else:
        assert shown is not None
        assert close(shown[0], rate.least) and close(shown[1], rate.most)


def test_the_gate_that_a_run_has_by_default(recorded: Recorded, run: Run, number: int) -> None:
    gates = recorded.json("show", str(number), "--json")["gates"]
    for model in run.models:
        rate = recompute.rates(run)["overall", "all cases", model]
        gate = gates[f"max_unscored_rate.{model}"]
        assert gate["of"] == rate.scored + rate.unscored
        assert close(gate["measured"], rate.unscored / gate["of"])
        assert gate["met"] is (gate["measured"] <= gate["limit"])


def test_results(recorded: Recorded, run: Run, number: int) -> None:
    rows = recorded.json("results", str(number), "--json")
    assert len(rows) == len(run.evaluations)
    assert Counter(map(verdict_of, rows)) == Counter(each.passed for each in run.evaluations)


def verdict_of(row: Mapping[str, Any]) -> bool | None:
    """Of a document in the form of the run's specification (000, or 002)."""
    if "outcome" in row:
        return {"passed": True, "failed": False}.get(row["outcome"])
    accuracy = row.get("scores", {}).get("accuracy")
    return None if accuracy is None else accuracy == 1


def assert_rate(shown: Mapping[str, Any], rate: Rate) -> None:
    assert (shown["passed"], shown["total"]) == (rate.passed, rate.scored)
    assert shown["clusters"] == rate.clusters
    if "bounds" in shown:
        assert_bounds(shown["bounds"], rate)


def test_report(recorded: Recorded, run: Run, number: int) -> None:
    report = recorded.json("report", str(number), "--format", "json", "-o", "-")
    expected = recompute.rates(run)
    shown = {
        (group["dimension"], group["name"], group["series"]): group
        for group in report["groups"]
        if group["dimension"] in ("overall", "suite", "severity")
    }
    wanted = {key for key in expected if key[0] in ("overall", "severity")}
    assert wanted <= set(shown)
    for key, group in shown.items():
        assert_rate(group["rate"], expected[key])
        assert group["unscored"] == expected[key].unscored
        assert_bounds(group["bounds"], expected[key])
    latencies = {
        each["series"]: each["value"]
        for each in report["measures"]
        if each["name"] == "latency, 50th percentile"
    }
    for model, value in latencies.items():
        assert value == pytest.approx(recompute.median_latency_ms(run, model), abs=1e-3)
    costs = recompute.costs(run)
    for row in report["costs"]:
        answers, tokens_in, tokens_out, dollars = costs[row["key"].removeprefix("judge:")] if (
            row["key"] not in costs
        ) else costs[row["key"]]  # fmt: skip
        assert (row["answers"], row["input_tokens"], row["output_tokens"]) == (
            answers, tokens_in, tokens_out,
        )  # fmt: skip
        assert (row["cost_usd"] is None) == (dollars is None)
        assert dollars is None or close(row["cost_usd"], float(dollars))


def test_report_compares_two_models(recorded: Recorded, run: Run, number: int) -> None:
    report = recorded.json("report", str(number), "--format", "json", "-o", "-")
    [shown] = [each for each in report["comparisons"] if each["what"] == "pass rate"]
    assert_compared(shown, recompute.compare(of(run, shown["one"]), of(run, shown["other"])))


def assert_compared(shown: Mapping[str, Any], expected: recompute.Comparison) -> None:
    paired = shown["paired"]
    assert paired["pairs"] == expected.pairs
    assert paired["clusters"] == expected.clusters
    assert {paired["first_only"], paired["second_only"]} == {
        expected.first_only, expected.second_only,
    }  # fmt: skip
    assert abs(paired["difference"]) == pytest.approx(abs(float(expected.difference)))
    assert paired["p"] == pytest.approx(float(expected.p)), (expected.p, paired["test"])


def test_csv(recorded: Recorded, run: Run, number: int) -> None:
    [file] = recorded.exported(number, "csv").glob("*.csv")
    rows = list(csv.DictReader(io.StringIO(file.read_text("utf-8"))))
    expected = {each.stream: each for each in run.evaluations}
    assert {row["evaluation_id"] for row in rows} == set(expected)
    words = {"true": True, "false": False, "": None}
    for row in rows:
        evaluation = expected[row["evaluation_id"]]
        assert words[row["passed"]] is evaluation.passed
        assert words[row["lost"]] is evaluation.is_lost
        assert row["unscored_as"] == (evaluation.unscored_as or "")
        assert row["answer"] == (evaluation.text or "")


def test_parquet(recorded: Recorded, run: Run, number: int) -> None:
    [file] = recorded.exported(number, "parquet").glob("*_run_results.parquet")
    rows = pyarrow.parquet.read_table(file).to_pylist()
    expected = {each.stream: each.passed for each in run.evaluations}
    assert {str(row["evaluation_id"]): row["passed"] for row in rows} == expected
    [file] = recorded.exported(number, "parquet").glob("*_cost.parquet")
    paid = pyarrow.parquet.read_table(file).to_pylist()
    costs = recompute.costs(run)
    for asked, (answers, tokens_in, tokens_out, dollars) in costs.items():
        rows = [row for row in paid if (row["judge"] or row["model_key"]) == asked]
        assert sum(row["requests"] for row in rows if row["model_answered"]) == answers
        assert sum(row["input_tokens"] for row in rows) == tokens_in
        assert sum(row["output_tokens"] for row in rows) == tokens_out
        if dollars is None:
            assert {row["cost_usd"] for row in rows} == {None}
        else:
            assert sum(row["cost_usd"] for row in rows) == dollars


def test_junit(recorded: Recorded, run: Run, number: int) -> None:
    [file] = recorded.exported(number, "junit").glob("*.xml")
    root = ElementTree.parse(file).getroot()
    suites = {each.case["suite_id"] for each in run.evaluations}
    tests = failures = 0
    for suite in root.iter("testsuite"):
        if suite.get("name") in suites:
            tests += int(suite.attrib["tests"])
            failures += int(suite.attrib["failures"])
    assert tests == len(run.evaluations)
    assert failures == sum(each.passed is False for each in run.evaluations)


def test_console(recorded: Recorded, run: Run, number: int) -> None:
    page = recorded.page(f"/runs/{number}.json")
    expected = recompute.rates(run)
    for row in page["by_model"]:
        assert_rate(row["passed"], expected["overall", "all cases", row["model"]])
        counted = recompute.counts(of(run, row["model"]))
        assert {name: row["counts"][name] for name in counted} == counted
    for row in page["by_suite"]:
        assert_rate(row["passed"], expected["suite", row["suite"], row["model"]])
    charts = recorded.page(f"/runs/{number}/charts.json")
    for row in charts["overall"]:
        assert_rate(row["passed"], expected["overall", "all cases", row["model"]])


def test_console_and_report_say_the_same_interval(recorded: Recorded, number: int) -> None:
    report = recorded.json("report", str(number), "--format", "json", "-o", "-")
    intervals = {
        group["series"]: group["rate"]["interval"]
        for group in report["groups"]
        if group["dimension"] == "overall"
    }
    for row in recorded.page(f"/runs/{number}.json")["by_model"]:
        interval = intervals[row["model"]]
        assert close(row["passed"]["low"], interval["low"])
        assert close(row["passed"]["high"], interval["high"])


def test_two_runs_are_compared_alike_everywhere(recorded: Recorded) -> None:
    one, other = KNOWN_ANSWERS, OTHER_MODELS
    report = recorded.json("report", str(one), str(other), "--format", "json", "-o", "-")
    page = recorded.page(f"/compare.json?base={one}&other={other}")
    for model in recorded.runs[one].models:
        expected = recompute.compare(of(recorded.runs[one], model), of(recorded.runs[other], model))
        [shown] = [
            each
            for each in report["comparisons"]
            if each["what"] == "pass rate" and model in each["one"] and model in each["other"]
        ]
        assert_compared(shown, expected)
        [row] = [each for each in page["models"] if each["base_model"] == model]
        assert (row["worse"], row["better"]) == (expected.first_only, expected.second_only)
        assert row["clusters"] == expected.clusters
        assert row["difference"] == pytest.approx(-float(expected.difference))
        assert row["p"] == pytest.approx(float(expected.p))
