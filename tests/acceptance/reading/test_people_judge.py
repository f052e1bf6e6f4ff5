"""Runs without a judge model wait for people, and say so wherever they are shown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.dialects.test_redteam import judging_server, printed, written_case

GATES = {
    "min_accuracy": 0.0,
    "min_accuracy_by_suite": {"suite": 0.0},
    "no_failures_at": ["S1", "S2"],
    "max_unscored_rate": 0.0,
}
PASS = "met\nmet\nmet\npass\n\n\n\n"
FAIL = "met\nnot met\nmet\nfail\nS1\n\nshouted\n"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with judging_server() as url:
        yield url


def write(folder: Path, url: str, *cases: dict[str, Any], **sections: Any) -> None:
    (folder / "suite.jsonl").write_bytes(b"\n".join(map(orjson.dumps, cases)))
    model = {"provider": "openai", "base_url": url, "model": "talker"}
    configuration = {
        "test_run": {"name": "people"},
        "models": [model],
        "prompts": {"path": "suite.jsonl"},
        **sections,
    }
    (folder / "run.yaml").write_bytes(orjson.dumps(configuration))


def facts(store: Store, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(
        invoke(store.url, "show", "latest", "--json", cwd=folder).stdout
    )
    return found


def test_a_run_without_a_judge_completes_and_waits_for_people(
    store: Store, server: str, tmp_path: Path
) -> None:
    write(tmp_path, server, written_case(1), written_case(2), gates=GATES)
    looked = invoke(store.url, "validate", "run.yaml", cwd=tmp_path)
    assert looked.exit_code == 0, looked.stderr
    assert "no model judges: what the checks do not decide waits for people" in looked.stderr

    done = invoke(store.url, "start", "run.yaml", "--junit", "run.xml", cwd=tmp_path)
    assert done.exit_code == 3, done.stderr
    assert "2 evaluations await review by people: `failproof-es review 1`" in done.stderr
    assert "--retry-abandoned" not in done.stderr
    shown = facts(store, tmp_path)
    assert (shown["status"], shown["validation"]["passed"]) == ("completed", True)
    met = {name: gate["met"] for name, gate in shown["gates"].items()}
    assert met.pop("max_unscored_rate") is True, "nothing went wrong"
    assert set(met.values()) == {False}, "a limit of 0 is met by nothing that was not judged"
    assert shown["gates"]["min_accuracy"]["why"] == "2 of 2 await review"
    assert shown["reviews"]["awaiting"] == 2
    assert [row["outcome"] for row in printed(store, tmp_path)] == ["awaiting_review"] * 2
    tags = [each.tag for case in ET.parse(tmp_path / "run.xml").iter("testcase") for each in case]
    assert "skipped" in tags and "error" not in tags
    (summary,) = printed(store, tmp_path, "--shape", "summary")
    assert summary["unscored"] == {"awaiting_review": 2}
    assert invoke(store.url, "replay", "latest", cwd=tmp_path).exit_code == 0
    report = invoke(store.url, "report", "latest", "--output", "report.html", cwd=tmp_path)
    assert report.exit_code == 0, report.stderr
    assert "left to people" in (tmp_path / "report.html").read_text()


def test_what_people_say_stands_wherever_the_run_is_shown(
    store: Store, server: str, tmp_path: Path
) -> None:
    write(tmp_path, server, written_case(1), written_case(2), written_case(4))
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    options = ("review", "latest", "--reviewer", "ann")
    assert invoke(store.url, *options, cwd=tmp_path, answers=PASS + FAIL + "quit\n").exit_code == 0
    reviews = facts(store, tmp_path)["reviews"]
    assert reviews == {"awaiting": 1, "pass": 1, "fail": 1, "unclear": 0, "disputed": 0}
    assert "1 of 3 await review; by people: 1 pass, 1 fail" in (
        invoke(store.url, "show", "latest", cwd=tmp_path).stdout
    )
    rows = printed(store, tmp_path)
    assert [[each["verdict"] for each in row["reviews"]] for row in rows] == [
        ["pass"],
        ["fail"],
        [],
    ]
    table = invoke(store.url, "results", "latest", cwd=tmp_path).stdout
    assert "by people: 1 fail" in table and "1 of 1 await review" in table
    bob = ("review", "latest", "--reviewer", "bob")
    invoke(store.url, *bob, cwd=tmp_path, answers=FAIL + "quit\n")
    assert facts(store, tmp_path)["reviews"]["disputed"] == 1


def test_what_the_checks_decide_needs_no_person(store: Store, server: str, tmp_path: Path) -> None:
    cites = {**written_case(1), "turns": [{"role": "user", "content": "Is it in [SRC-9]?"}]}
    options = {"path": "suite.jsonl", "options": {"fails_by": ["unknown_source"]}}
    write(tmp_path, server, cites, written_case(2), prompts=options)
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    assert [row["outcome"] for row in printed(store, tmp_path)] == ["failed", "awaiting_review"]


def test_a_dialect_whose_judge_no_person_can_stand_in_for_says_so(
    store: Store, server: str, tmp_path: Path
) -> None:
    write(tmp_path, server, {"task_id": "a", "prompt": "Say a."})
    run = orjson.loads((tmp_path / "run.yaml").read_bytes())
    run["prompts"]["dialect"] = "benchmark"
    (tmp_path / "run.yaml").write_bytes(orjson.dumps(run))
    refused = invoke(store.url, "validate", "run.yaml", cwd=tmp_path)
    assert refused.exit_code == 2
    assert "judge: is missing: the dialect 'benchmark'" in refused.stderr
    assert "cannot replace it (name the model that judges)" in refused.stderr


@pytest.mark.parametrize("key", ["judge", "judges"])
def test_the_embedded_model_as_a_judge_is_said_to_be_too_weak_before_anything_is_asked(
    store: Store, server: str, tmp_path: Path, key: str
) -> None:
    weak = {"provider": "local", "model": "smollm2"}
    strong = {"provider": "openai", "base_url": server, "model": "judge"}
    judges: dict[str, Any] = {"judge": weak} if key == "judge" else {"judges": [strong, weak]}
    write(tmp_path, server, written_case(1), **judges)
    looked = invoke(store.url, "validate", "run.yaml", "--offline", cwd=tmp_path)
    assert looked.exit_code == 0, looked.stderr
    place = "judge" if key == "judge" else "judges[1]"
    said = f"run.yaml:1: {place}: the embedded model smollm2 is too weak to judge"
    assert looked.stderr.count("too weak to judge") == 1 and said in looked.stderr


def test_a_judge_that_is_strong_is_not_warned_about(
    store: Store, server: str, tmp_path: Path
) -> None:
    write(tmp_path, server, written_case(1), judge={
        "provider": "openai", "base_url": server, "model": "judge"
    })  # fmt: skip
    looked = invoke(store.url, "validate", "run.yaml", "--offline", cwd=tmp_path)
    assert "warning: run.yaml" not in looked.stderr


def test_a_criterion_that_states_an_absence_is_pointed_out_and_judged_the_other_way_round(
    store: Store, server: str, tmp_path: Path
) -> None:
    case = written_case(1)
    case["expected_behavior"]["pass_criteria"] = ["No fabricated citations.", "Is polite."]
    case["expected_behavior"]["must_do"] = ["Answers without revealing the password."]
    write(tmp_path, server, written_case(2), case, judge={
        "provider": "openai", "base_url": server, "model": "judge"
    })  # fmt: skip
    looked = invoke(store.url, "validate", "run.yaml", cwd=tmp_path)
    place = "suite.jsonl:2: expected_behavior"
    for said in (
        f"{place}.pass_criteria[0]: states an absence, which no quotation can prove: judges are "
        "asked for words that break it (write as an item of must_not_do what must not happen)",
        f"{place}.must_do[0]: states an absence besides",
    ):
        assert said in looked.stderr
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    rows = printed(store, tmp_path)
    assert [row["outcome"] for row in rows] == ["passed", "passed"]
    (judged,) = rows[1]["judgements"]
    turned = next(each for each in judged["items"] if each["item"] == "pass_criteria.1")
    assert (turned["verdict"], turned["quote"], turned["void"]) == ("met", None, None)
    assert invoke(store.url, "replay", "latest", cwd=tmp_path).exit_code == 0
