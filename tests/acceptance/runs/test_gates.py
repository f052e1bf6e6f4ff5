"""Gates from the configuration to the event, the exit code and the JUnit file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import pytest
from click.testing import Result

from failproof_es.core.pairing import Unpaired
from failproof_es.engine import lifecycle
from failproof_es.report.data.builder import build_report
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke

CASES = 20
PRICE = {"input_usd_per_million": 1.0, "output_usd_per_million": 1.0}


class Forgetful:
    """Says back what it is asked, but what it has forgotten."""

    def __init__(self, api_key: str | None, model_id: str) -> None:
        """Nothing to keep: all stands in the parameters."""

    def get_completion(self, prompt: str, params: dict[str, Any]) -> str:
        number = int(prompt.rsplit(" ", 1)[1])
        if number in params.get("breaks_at", ()):
            raise RuntimeError("out of order \x00\x1b[31m")
        return "nothing \x07\u202e]]>" if number in params.get("forgot", ()) else prompt


def configured(folder: Path, *models: dict[str, Any], **sections: Any) -> None:
    """Two suites of ten cases each; what a model forgets stands in its parameters."""
    cases = [
        {
            "case_id": f"case-{n}",
            "suite_id": "odd" if n % 2 else "even",
            "prompt": f"Say number {n}",
            "expected_response": f"number {n}",
        }
        for n in range(CASES)
    ]
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    document = {
        "test_run": {"name": "gated"},
        "models": models,
        "prompts": {"path": "suite.jsonl", "dialect": "failproof"},
        "execution": {"retry_attempts": 0, "pause_after_lost": None},
        **sections,
    }
    (folder / "run.yaml").write_bytes(orjson.dumps(document))


def start(store: Store, folder: Path, *more: object) -> Result:
    return invoke(store.url, "start", "run.yaml", "--quiet", *more, cwd=folder)


def gates(store: Store, run: int) -> dict[str, Any]:
    """As the run's last word has them, from the raw event."""
    with store.connect() as connection:
        found = find(connection, run_id=resolve_run(connection, str(run)), topics=["RunCompleted"])
        (row,) = list(found)
    said: dict[str, Any] = row.payload()["gates"]
    return said


def model(name: str, forgot: Sequence[int] = (), **more: Any) -> dict[str, Any]:
    parameters = {"forgot": list(forgot), **more}
    place = f"{__name__}:Forgetful"
    return {"provider": "python", "class": place, "model": name, "parameters": parameters}


@pytest.mark.slow
def test_a_model_that_forgot_much_or_lost_scores_does_not_pass_for_the_one_before(
    store: Store, tmp_path: Path
) -> None:
    configured(tmp_path, model("v1"))
    assert start(store, tmp_path).exit_code == 0

    configured(tmp_path, model("v2", range(8)), gates={"no_regression_against": "latest"})
    done = start(store, tmp_path)
    assert done.exit_code == 3, done.output
    (gate,) = gates(store, 2).values()
    assert (gate["measured"], gate["of"], gate["cases"]) == (-0.4, CASES, CASES), "not of itself"
    assert gate["interval"][1] < 0
    assert "gate no_regression_against.v2 latest: measured -0.4 over 20" in done.output

    configured(tmp_path, model("v1", [0]), model("v9"), gates={"no_regression_against": 1})
    assert start(store, tmp_path).exit_code == 3
    judged = gates(store, 3)
    chance, unknown = judged["no_regression_against.v1"], judged["no_regression_against.v9"]
    assert (chance["measured"], chance["met"]) == (-0.05, False)
    assert chance["cannot_tell"], "one of twenty may be chance"
    assert (unknown["measured"], unknown["met"]) == (None, False)

    # two of twenty are lost, as many as `max_unscored_rate` allows; all others are as before
    limits = {"no_regression_against": 1, "regression_margin": 0.2}
    configured(tmp_path, model("v1", breaks_at=[3, 4]), gates=limits)
    assert start(store, tmp_path).exit_code == 3
    gate = gates(store, 4)["no_regression_against.v1"]
    assert (gate["measured"], gate["of"], gate["met"]) == (0.0, CASES - 2, False)
    assert gate["interval"][0] > -0.2, "what was scored alone would meet it"
    assert "2 evaluations had a score before and none now; if all had failed" in gate["why"]


def test_without_enough_cases_no_loss_is_excluded_and_an_accuracy_has_a_lower_end(
    store: Store, tmp_path: Path
) -> None:
    """The same answers twice: twenty cases exclude no loss of one point."""
    configured(tmp_path, model("v1", [0]))
    assert start(store, tmp_path).exit_code == 0
    limits: dict[str, Any] = {
        "no_regression_against": 1, "regression_margin": 0.01,
        "min_accuracy": 0.9, "min_accuracy_by_suite": {"odd": 0.7}, "judge": "lower",
    }  # fmt: skip
    configured(tmp_path, model("v1", [0]), gates=limits)
    done = start(store, tmp_path)
    assert done.exit_code == 3 and "cannot tell: the accuracy may be as low as" in done.output
    judged = gates(store, 2)
    unknown = judged["no_regression_against.v1"]
    assert unknown["cannot_tell"] and "about" in unknown["why"]
    lower, by_suite = judged["min_accuracy"], judged["min_accuracy_by_suite.odd"]
    assert (lower["measured"], lower["met"], lower["cannot_tell"]) == (0.95, False, True)
    assert lower["interval"] == pytest.approx([0.764, 0.997], abs=1e-3), "Wilson, 19 of 20"
    assert by_suite["interval"] == pytest.approx([0.722, 1.0], abs=1e-3), "Wilson, 10 of 10"
    assert by_suite["met"]


def test_latest_that_another_start_changes_meanwhile_is_told(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(tmp_path, model("v1"))
    assert start(store, tmp_path).exit_code == 0
    begin = lifecycle._begin

    def another_begins_first(*arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(lifecycle, "_begin", begin)
        other = tmp_path / "other"
        other.mkdir()
        configured(other, model("v3"))
        assert start(store, other, "--detach").exit_code == 0
        return begin(*arguments, **named)

    configured(tmp_path, model("v2"), gates={"no_regression_against": "latest"})
    monkeypatch.setattr(lifecycle, "_begin", another_begins_first)
    done = start(store, tmp_path)
    assert done.exit_code == 2 and "[run-not-completed]" in done.stderr
    with store.connect() as connection:
        assert len(list(find(connection, topics=["RunStarted"]))) == 2


@pytest.mark.slow
def test_an_altered_prompt_is_compared_with_nothing_though_its_name_is_the_same(
    store: Store, tmp_path: Path
) -> None:
    """Of the gate, of the report and of `diff` alike."""
    configured(tmp_path, model("v1"))
    assert start(store, tmp_path).exit_code == 0
    limits = {"no_regression_against": 1, "regression_margin": 0.2}
    configured(tmp_path, model("v2"), gates=limits)
    cases = [orjson.loads(line) for line in (tmp_path / "suite.jsonl").read_bytes().splitlines()]
    for case in cases[:4]:
        case["prompt"] = case["prompt"].replace("Say", "Please say")
    for case in cases[4:6]:
        case["description"] = "noted"
    (tmp_path / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    assert start(store, tmp_path).exit_code == 0

    (gate,) = gates(store, 2).values()
    assert (gate["of"], gate["unpaired"]) == (CASES - 4, 4)
    assert "4 sent another prompt under the same name" in gate["why"]
    with store.connect() as connection:
        runs = [resolve_run(connection, each) for each in ("1", "2")]
        report = build_report(connection, runs)
    (compared,) = report.pairings
    assert compared.pairs == CASES - 4 == report.comparisons[0].paired.pairs
    assert compared.unpaired == (Unpaired("sent another prompt under the same name", 4, 4),)
    assert any("were not asked the same" in each for each in report.limitations)
    assert "were asked the same" not in report.verdict.sentence
    told = invoke(store.url, "diff", "1", "2", "--json", cwd=tmp_path)
    results, *_ = orjson.loads(told.stdout)["results"]
    assert (results["compared_with"], results["pairs"]) == ("v2", CASES - 4)


def test_each_model_is_held_to_the_gates_and_the_one_that_misses_them_is_named(
    store: Store, tmp_path: Path
) -> None:
    limits = {"min_accuracy": 0.7, "max_unscored_rate": 0.04}
    configured(tmp_path, model("good"), model("bad", range(10)), gates=limits)
    done = start(store, tmp_path)
    assert done.exit_code == 3, done.output
    assert "gate min_accuracy.bad 0.7: measured 0.5 over 20, NOT MET" in done.output
    assert "gate min_accuracy.good 0.7: measured 1 over 20, met" in done.output
    assert {name: gate["met"] for name, gate in gates(store, 1).items()} == {
        "min_accuracy.good": True,
        "max_unscored_rate.good": True,
        "min_accuracy.bad": False,
        "max_unscored_rate.bad": True,
    }


def test_a_run_that_failed_says_what_went_wrong(store: Store, tmp_path: Path) -> None:
    configured(tmp_path, model("broken", breaks_at=list(range(CASES))))
    done = start(store, tmp_path)
    assert done.exit_code == 1
    assert "failed requests: " in done.output and f"({CASES})" in done.output
    assert "out of order" in done.output and "\x1b" not in done.output
    assert "out of order" in invoke(store.url, "show", "1", cwd=tmp_path).output


def test_a_run_that_cannot_be_held_against_is_told_before_anything_is_sent(
    store: Store, tmp_path: Path
) -> None:
    configured(tmp_path, model("v1"), gates={"no_regression_against": 7, "min_accuracy": 1.0})
    done = start(store, tmp_path)
    assert done.exit_code == 2
    assert "gates.no_regression_against" in done.stderr and "[unknown-run]" in done.stderr
    with store.connect() as connection:
        assert not list(find(connection, topics=["RunStarted"]))


def test_the_cost_is_that_of_every_answer_and_without_a_price_nothing_is_asked(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    asked = {"provider": "openai", "base_url": mock_url, "model": "mock"}
    prices = {"version": "2026-11-01", "models": [{"model": "mock", **PRICE}]}
    configured(tmp_path, asked, gates={"max_cost_usd": 0.0}, prices=prices)
    assert start(store, tmp_path).exit_code == 3
    (gate,) = gates(store, 1).values()
    with store.connect() as connection:
        row = connection.execute(
            "SELECT sum((payload #>> '{usage,input_tokens}')::int "
            "+ (payload #>> '{usage,output_tokens}')::int) / 1e6 "
            "FROM failproof.event_log WHERE event_type = 'ResponseReceived'"
        ).fetchone()
    assert row is not None
    assert gate["measured"] == pytest.approx(float(row[0])) and gate["measured"] > 0

    prices["models"] = [{"model": "mok", **PRICE}]
    told = invoke(store.url, "validate", "run.yaml", "--offline", cwd=tmp_path).stderr
    assert told.count("prices.models") == 0, "without another name"
    configured(tmp_path, asked, gates={"max_cost_usd": 1e9}, prices=prices)
    for command in (("validate", "run.yaml", "--offline"), ("start", "run.yaml")):
        done = invoke(store.url, *command, cwd=tmp_path)
        assert done.exit_code == 2 and "models[0].model: " in done.stderr
        assert "[price-unknown]" in done.stderr
        assert "correct the name 'mok' in `prices`, or give its prices" in done.stderr
    gates_on_nothing = {
        "min_accuracy_by_suite": {"even": 0.1, "evn": 0.1},
        "no_failures_at": ["S0"],
    }
    configured(tmp_path, asked, gates=gates_on_nothing, prices=prices)
    told = invoke(store.url, "validate", "run.yaml", "--offline", cwd=tmp_path).stderr
    assert "'mok' (did you mean 'mock'? there are: mock) [unused-price]" in told
    assert "gates.min_accuracy_by_suite.evn: " in told and "gates.no_failures_at: " in told
    assert told.count("[not-measurable]") == 2
    assert "min_accuracy_by_suite.even" not in told


def spent(store: Store, run: int) -> float:
    """What the answers of a run took at a dollar for a million tokens, from the raw events."""
    with store.connect() as connection:
        run_id = resolve_run(connection, str(run))
        payloads = [
            row.payload() for row in find(connection, run_id=run_id, topics=["ResponseReceived"])
        ]
    tokens = sum(p["usage"]["input_tokens"] + p["usage"]["output_tokens"] for p in payloads)
    return float(tokens) / 1e6


def test_what_a_branch_carried_over_counts_for_its_gates_and_costs_nothing_again(
    store: Store, mock_url: str, tmp_path: Path
) -> None:
    asked = {"provider": "openai", "base_url": mock_url, "model": "mock"}
    prices = {"version": "2026-11-01", "models": [{"model": "mock", **PRICE}]}
    limits = {"min_accuracy": 1.0, "max_cost_usd": 1.0}
    configured(tmp_path, asked, gates=limits, prices=prices)
    assert start(store, tmp_path).exit_code == 0
    with store.connect() as connection:
        scored = list(find(connection, run_id=resolve_run(connection, "1"), topics=["Scored"]))
    middle = scored[CASES // 2].position
    assert invoke(store.url, "resume", 1, "--at", middle, "--quiet", cwd=tmp_path).exit_code == 0
    accuracy, cost = gates(store, 2).values()
    assert (accuracy["measured"], accuracy["of"]) == (1.0, CASES)
    assert cost["measured"] == pytest.approx(spent(store, 2))
    assert 0 < cost["measured"] < spent(store, 1)

    configured(
        tmp_path, asked, gates={"no_regression_against": 2, "regression_margin": 0.2}, prices=prices
    )
    assert start(store, tmp_path).exit_code == 0
    (against,) = gates(store, 3).values()
    assert (against["of"], against["unpaired"]) == (CASES, 0)


def test_junit_tells_failures_from_errors_and_gates_from_both(store: Store, tmp_path: Path) -> None:
    configured(
        tmp_path, model("v1", [1, 12], breaks_at=[5]), gates={"min_accuracy": 1.0, "min_csr": 0.1}
    )
    done = start(store, tmp_path, "--junit", "out/junit.xml")
    assert done.exit_code == 3, done.output
    written = (tmp_path / "out/junit.xml").read_bytes()
    root = ET.fromstring(written)
    counts = {
        suite.get("name"): [int(suite.get(key, "")) for key in ("tests", "failures", "errors")]
        for suite in root
    }
    assert counts == {"even": [10, 1, 0], "odd": [10, 1, 1], "gates": [3, 1, 0]}
    (error,) = root.iter("error")
    assert "\\x00\\x1b[31m" in error.get("message", "")
    failed = [case for case in root.iter("testcase") if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["case-12", "case-1", "min_accuracy"]
    failure = failed[0].find("failure")
    assert failure is not None
    for said in (failure.get("message", ""), failure.text or ""):
        assert all(f"{part}: " in said for part in ("prompt", "expected", "got")), said
        assert "nothing \\x07\\u202e]]>" in said.replace("\\\\", "\\")
    assert failed[0].findtext("system-out") == "nothing \\x07\\u202e]]>"

    again = invoke(store.url, "results", "1", "--junit", "again.xml", "--json", cwd=tmp_path)
    assert again.exit_code == 0 and (tmp_path / "again.xml").read_bytes() == written
    assert len(orjson.loads(again.stdout)) == CASES

    reported = invoke(
        store.url, "report", "1", "--format", "json", "-o", "-", "--junit", "third.xml",
        cwd=tmp_path,
    )  # fmt: skip
    assert (tmp_path / "third.xml").read_bytes() == written
    assert reported.exit_code == 0, reported.output
    missed, met, lost = orjson.loads(reported.stdout)["gates"]
    assert (missed["name"], missed["of"], missed["met"], met["met"]) == (
        "min_accuracy", 19, False, True,
    )  # fmt: skip
    assert (lost["name"], lost["measured"], lost["met"]) == ("max_unscored_rate", 0.05, True)


def test_a_junit_file_that_cannot_be_written_is_said_and_loses_nothing(
    store: Store, tmp_path: Path
) -> None:
    configured(tmp_path, model("v1"))
    (tmp_path / "taken").write_text("a file, no folder")
    done = start(store, tmp_path, "--junit", "taken/junit.xml")
    assert done.exit_code == 1
    assert "cannot be written" in done.stderr and "results 1 --junit FILE" in done.stderr
    assert invoke(store.url, "show", "1", cwd=tmp_path).exit_code == 0
