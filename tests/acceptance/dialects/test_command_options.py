"""What a configuration chooses for shell commands, from the command line to the record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click.testing
import orjson
import pytest

from failproof_es.core.case import Case
from failproof_es.core.evaluation import Classification, Transcript
from failproof_es.dialects.shipped.command import Command
from failproof_es.engine.drive.grading.grader import Grader
from failproof_es.shell_analysis.parse import programs
from failproof_es.store.reading.reader import find
from failproof_es.store.store import Store
from tests.acceptance.commands import invoke, write_configuration

TEMPLATE = [
    {"role": "system", "content": "One command."},
    {"role": "user", "content": "echo {{prompt}}"},
]
DATASET = {
    "version": "1.0.0",
    "test_cases": [
        {
            "id": f"case-{number}",
            "prompt": prompt,
            "expected_command": f"You said: echo {prompt}",
            "category": category,
            "safe": True,
            "posix_compliant": True,
        }
        for number, (category, prompt) in enumerate(
            [("correctness", "1"), ("safety", "2"), ("posix", "<(ls)")]
        )
    ],
}
"""The mock says `You said:` and the last message: in strict mode that is the command."""


def configured(folder: Path, url: str, **sections: Any) -> None:
    (folder / "dataset.yaml").write_bytes(orjson.dumps(DATASET))  # JSON is YAML
    options = {"template": TEMPLATE, "extraction": "strict"}
    prompts = {"path": "dataset.yaml", "options": options}
    write_configuration(folder, url, **{"prompts": prompts, **sections})


def test_template_extraction_and_gates_hold_from_the_first_request_to_the_exit_code(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parsers keep no answer waiting: nothing is classified in the process of the run."""

    def watched(self: Command, case: Case, transcript: Transcript) -> Classification:
        raise AssertionError("it is classified in the process of the run")

    gates = {"min_csr": 0.6, "min_safety_accuracy": 1.0, "min_posix_compliance_rate": 0.5}
    configured(tmp_path, mock_url, gates=gates)
    with monkeypatch.context() as patched:
        patched.setattr(Command, "classify", watched)
        done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert done.exit_code == 3, done.output
    assert "gate min_csr 0.6: measured 0.6667 over 3, met" in done.output
    assert "gate min_safety_accuracy 1: measured 1 over 1, met" in done.output
    assert "gate min_posix_compliance_rate 0.5: measured 0 over 1, NOT MET" in done.output
    with store.connect() as connection:
        bodies = connection.execute(
            "SELECT payload ->> 'body' FROM failproof.event_log "
            "WHERE event_type = 'RequestSent' ORDER BY position"
        ).fetchall()
    messages = [orjson.loads(body)["messages"] for (body,) in bodies]
    assert [each[0]["content"] for each in messages] == ["One command."] * 3
    assert {each[1]["content"] for each in messages} == {"echo 1", "echo 2", "echo <(ls)"}
    assert invoke(store.url, "replay", "latest", cwd=tmp_path).exit_code == 0


def test_a_wrong_option_sends_nothing(store: Store, mock_url: str, tmp_path: Path) -> None:
    prompts: dict[str, Any] = {"path": "dataset.yaml", "options": {"extraction": "none"}}
    other = {"path": "dataset.yaml", "dialect": "failproof", "options": {"x": 1}}
    for wrong, said in ((prompts, "prompts.options.extraction"), (other, "[unsupported-feature]")):
        configured(tmp_path, mock_url, prompts=wrong)
        done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
        assert done.exit_code == 2 and said in done.output
    with store.connect() as connection:
        *_, last = find(connection)
        runs = list(find(connection, topics=["RunStarted", "RequestSent"]))
    assert last.topic == "ValidationFailed" and not runs


@contextmanager
def without_parsers(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[None]:
    """An installation without the extra `[commands]`: its programs are nowhere."""
    with monkeypatch.context() as patch:
        patch.setattr(programs, "_folders", lambda: [folder / "no-programs-here"])
        programs.locate.cache_clear()
        yield
    programs.locate.cache_clear()


def says_what_to_install(done: click.testing.Result) -> bool:
    said = " ".join(done.output.split())
    return "is not installed" in said and "pip install 'failproof-es[commands]'" in said


def test_without_the_parsers_nothing_is_sent_and_a_run_is_read_and_not_replayed(
    store: Store, mock_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(tmp_path, mock_url)
    with without_parsers(monkeypatch, tmp_path):
        done = invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path)
    assert done.exit_code == 2 and says_what_to_install(done), done.output
    with store.connect() as connection:
        assert not list(find(connection, topics=["RunStarted", "RequestSent"]))
    assert invoke(store.url, "start", "run.yaml", "--quiet", cwd=tmp_path).exit_code == 0
    monkeypatch.setattr(Grader, "is_bounded", lambda *_: True)  # children have the parsers
    with without_parsers(monkeypatch, tmp_path):
        for read in ("show", "results", "report"):
            assert invoke(store.url, read, "1", cwd=tmp_path).exit_code == 0
        done = invoke(store.url, "replay", "1", cwd=tmp_path)
        assert done.exit_code == 2 and says_what_to_install(done), done.output
