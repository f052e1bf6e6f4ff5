"""Nothing is signed over a log that does not continue the checkpoint kept outside.

The log's key is where it should be: at the engine, which the attacker would have sign.
"""

from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import click.testing
import orjson
import pytest

import failproof_es
from failproof_es.abstraction.opened import open_benchmark
from failproof_es.assurance.signing.kept_checkpoints import Forked, default_place
from failproof_es.store import ledger
from tests.acceptance.attacks.conftest import Attacked
from tests.acceptance.attacks.test_history import forge_responses
from tests.acceptance.commands import invoke, write_configuration, write_suite


@pytest.fixture
def forged(log: Attacked, home: Path) -> Attacked:
    """Another answer of the model, the seal made to fit, all tiles and checkpoints deleted.

    This test's own home is the engine's: it has the key and the checkpoint kept outside.
    """
    shutil.copytree(log.recorded.home, home, dirs_exist_ok=True)
    default_place(log.recorded.key.name).write_text(str(log.recorded.kept), "utf-8")
    forge_responses(log)
    log.tamper("TRUNCATE failproof.ledger_tiles", "TRUNCATE failproof.ledger_checkpoints")
    return log


def engine(
    log: Attacked, *arguments: object, answers: str | None = None, **environment: str
) -> click.testing.Result:
    return invoke(log.url, *arguments, cwd=log.folder, answers=answers, **environment)


def assert_nothing_is_signed(log: Attacked) -> None:
    assert ledger.checkpoints(log.superuser) == []
    kept = default_place(log.recorded.key.name).read_text("utf-8")
    assert kept == str(log.recorded.kept)


@pytest.mark.parametrize("command", ["ledger checkpoint", "evidence export 2 -o run.evidence"])
def test_a_forged_log_is_refused_before_anything_is_signed(forged: Attacked, command: str) -> None:
    done = engine(forged, *command.split())
    assert done.exit_code == 1, done.output
    assert "are not those of the checkpoint kept" in done.output
    assert "Nothing was signed" in done.output
    assert_nothing_is_signed(forged)
    unsigned = engine(forged, "evidence", "export", "2", "-o", "run.evidence", "--no-checkpoint")
    assert (unsigned.exit_code, (forged.folder / "run.evidence").exists()) == (3, False)


def test_no_run_begins_on_a_log_that_does_not_continue_the_checkpoint_kept(
    forged: Attacked, mock_url: str
) -> None:
    write_suite(forged.folder, 2)
    write_configuration(forged.folder, mock_url)
    events = "SELECT count(*) FROM failproof.events"
    [before] = forged.fetch(events)
    detached = ("start", "run.yaml", "--detach")
    for command in (("start", "run.yaml"), detached, ("resume", "1"), ("worker", "--drain")):
        done = engine(forged, *command)
        assert done.exit_code == 1, done.output
        assert "error: the log was changed: the checkpoint kept signs" in done.stderr
        assert "an older backup restored. Nothing was sent." in done.stderr
    assert forged.fetch(events) == [before]
    assert_nothing_is_signed(forged)


@pytest.mark.slow
def test_reviews_of_a_forged_log_end_with_exit_code_1_also_when_they_are_stopped(
    forged: Attacked, mock_url: str
) -> None:
    write_suite(forged.folder, 2)
    write_configuration(forged.folder, mock_url)
    elsewhere = str(forged.folder / "elsewhere")  # nothing is kept there
    engine(forged, "start", "run.yaml", "--quiet", FAILPROOF_ES_HOME=elsewhere)
    review = engine(forged, "review", "latest", answers="pass\n\n\n\nquit\n")
    assert "1 of 2 evaluations reviewed" in review.output
    engine(forged, "review", "export", "latest", "sheet.csv", "--reviewer", "jane")
    fill_in(forged.folder / "sheet.csv")
    imported = engine(forged, "review", "import", "latest", "sheet.csv", "--reviewer", "jane")
    assert "new and on record: 2 of 2 verdicts" in imported.output
    for done in (review, imported):
        assert (done.exit_code, "error: the log was changed" in done.output) == (1, True)
    assert_nothing_is_signed(forged)


def fill_in(sheet: Path) -> None:
    """Everything is fine."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "verdict": "pass"} for row in rows)


def test_a_benchmark_of_the_programming_interface_raises_on_a_forged_log(
    forged: Attacked, mock_url: str
) -> None:
    task = {"input": "Say yes.", "expected_output": "yes"}
    (forged.folder / "tasks.jsonl").write_bytes(orjson.dumps(task))
    prompts = {"path": "tasks.jsonl", "dialect": "benchmark"}
    configuration = write_configuration(forged.folder, mock_url, prompts=prompts)
    with pytest.raises(Forked), open_benchmark(configuration, forged.url):
        pass
    assert_nothing_is_signed(forged)


def test_what_is_signed_goes_through_the_one_function_that_compares() -> None:
    """A second way to a signature would be a way round the comparison."""
    sources = {
        path.stem: path.read_text("utf-8")
        for path in Path(failproof_es.__file__).parent.rglob("*.py")
    }
    calls = {
        "sign_checkpoint(": {"integrator", "checkpoint_signer"},
        ".signed(key)": {"integrator"},
    }
    for call, modules in calls.items():
        assert {name for name, text in sources.items() if call in text} == modules
    assert len(re.findall(r"ledger\.add_checkpoint\(", sources["integrator"])) == 1


def test_a_checkpoint_that_the_engine_s_login_forged_stops_no_signing_and_no_watching(
    log: Attacked, home: Path
) -> None:
    """Of the same tree, with a signature that is none, and longer than the one beside it."""
    shutil.copytree(log.recorded.home, home, dirs_exist_ok=True)
    done = engine(log, "ledger", "checkpoint")
    assert done.exit_code == 0, done.output
    with log.engine() as store, store.connect() as connection:
        newest = ledger.newest_checkpoint(connection)
        assert newest is not None
        signed = newest.note.rstrip("\n")
        head, _, signature = signed.rpartition(" ")
        broken = f"{head} {signature[:6]}{'A' * (len(signature) - 8)}=="
        forged = f"{broken}\n\u2014 somebody {signature}\n"
        ledger.add_checkpoint(connection, newest.tree_size, forged)
        again = ledger.newest_checkpoint(connection)
        assert again is not None and again.note == forged
    for command in ("checkpoint", "watch"):
        done = engine(log, "ledger", command)
        assert done.exit_code == 0, done.output
