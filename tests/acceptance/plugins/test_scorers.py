"""A scorer from an installed package: in the configuration, the run, the results, the replay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from failproof_es.dialects.scorers import ENTRY_POINT_GROUP
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.store.reading.reader import find, resolve_run
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.runs.test_gates import configured, model
from tests.plugin_packages import install, look_again

SOURCE = """
class Letters:
    name = "letters"
    version = "3"
    def score(self, case, transcript, classification):
        text = transcript.replies[-1].text
        if text.endswith(" 7"):
            raise RuntimeError("seven")
        return {"all": len(text), "wide": sum(letter in "mw" for letter in text)}
"""


@pytest.fixture(autouse=True)
def letters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    offered = {ENTRY_POINT_GROUP: {"letters": "their_letters:Letters"}}
    install(monkeypatch, tmp_path / "site", "their-letters", offered, {"their_letters": SOURCE})
    yield
    monkeypatch.undo()
    look_again()


def events(store: Store, topic: str) -> list[dict[str, Any]]:
    with store.connect() as connection:
        rows = find(connection, run_id=resolve_run(connection, "1"), topics=[topic])
        return [row.payload() for row in rows]


@pytest.mark.slow
def test_an_installed_scorer_counts_in_the_run_and_its_replay_and_is_missed_where_it_is_gone(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(
        tmp_path, model("v1"), grading={"scorers": ["letters"]}, gates={"max_unscored_rate": 1}
    )
    done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert done.exit_code == 0, done.output

    (started,) = events(store, "RunStarted")
    assert started["packages"]["their-letters"] == "1.0"
    scored = events(store, "Scored")
    assert len(scored) == 19
    for event in scored:
        assert set(event["scores"]) == {"accuracy", "letters:all", "letters:wide"}
        assert event["graders"] == {"letters:all": "3", "letters:wide": "3"}
    failed = events(store, "EvaluationAbandoned")
    assert [each["kind"] for each in failed] == ["scorer_failed"]
    assert failed[0]["reason"] == "letters 3: RuntimeError: seven"

    replayed = invoke(store.url, "replay", "1", cwd=tmp_path)
    assert replayed.exit_code == 0, replayed.output
    shown = invoke(store.url, "results", "1", "--format", "json", cwd=tmp_path)
    assert "letters:all" in shown.output
    assert invoke(store.url, "report", "1", "--format", "json", cwd=tmp_path).exit_code == 0
    (reported,) = tmp_path.glob("*_gated.json")
    assert "mean letters:all" in reported.read_text()

    import their_letters  # type: ignore[import-not-found]

    monkeypatch.setattr(Grader, "is_bounded", lambda *_: True)  # in this process, which is changed
    monkeypatch.setattr(their_letters.Letters, "score", lambda *_: {"all": 1})
    differs = invoke(store.url, "replay", "1", "--format", "json", cwd=tmp_path)
    assert differs.exit_code != 0 and "letters:all" in differs.output

    monkeypatch.undo()
    look_again()
    replayed = invoke(store.url, "replay", "1", cwd=tmp_path)
    assert replayed.exit_code == 2
    problem = r"scorer 'letters' .*their-letters 1\.0, not installed.*\[plugin-not-installed\]"
    assert re.search(problem, replayed.output)
    assert invoke(store.url, "show", "1", cwd=tmp_path).exit_code == 0
    again = ("report", "1", "--format", "json", "-o", "again.json")
    assert invoke(store.url, *again, cwd=tmp_path).exit_code == 0


def test_a_scorer_that_is_not_installed_is_told_before_anything_is_sent(
    store: Store, tmp_path: Path
) -> None:
    configured(tmp_path, model("v1"), grading={"scorers": ["leters", {"name": "letters"}]})
    document = orjson.loads((tmp_path / "run.yaml").read_bytes())
    (tmp_path / "run.yaml").write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2))
    done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert done.exit_code == 2
    problem = r"run\.yaml:\d+: grading\.scorers\[0\]: .*'leters' \(.*'letters'\?.*\[unknown-name\]"
    assert re.search(problem, done.output)
    with store.connect() as connection:
        assert list(find(connection, topics=["RunStarted"])) == []
