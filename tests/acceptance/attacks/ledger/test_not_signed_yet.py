"""Nobody attacks here: what is committed behind a checkpoint is not signed yet, and no more.

A run is proven as of a checkpoint; exit code 1 is for what was changed.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any
from uuid import UUID

import pytest

from failproof_es.assurance import run_evidence
from failproof_es.assurance.run_evidence import evidence_lines
from failproof_es.core.case import review_id
from failproof_es.events import Reviewed, RunResumed
from failproof_es.ledger import bundle, checkpoint, note
from failproof_es.ledger.bundle import BundleProof
from failproof_es.ledger.contents import EvidenceError, Missing, NotProvenYet
from failproof_es.ledger.tlog_policy import Policy
from failproof_es.problems import InvalidInput
from failproof_es.store import ledger
from tests.acceptance.attacks.conftest import Attacked
from tests.acceptance.attacks.statements import insert
from tests.acceptance.attacks.world import FAILED, OTHER, PASSED, Author, cases

LATER = UUID(int=9 << 100)
"""A third attempt at what FAILED and PASSED asked."""


def begin_another(log: Attacked) -> None:
    """Another run of the same configuration begins, and nobody signs it."""
    with log.engine() as store:
        Author(store, log.recorded.key).start(LATER, "the third try", "c0", cases("asked"))


def sign(log: Attacked) -> None:
    with log.engine() as store:
        Author(store, log.recorded.key).sign()


def as_of(log: Attacked, run: UUID, size: int | None = None) -> BundleProof:
    """What a stranger makes of the run's evidence as of a checkpoint."""
    with log.auditor() as connection:
        made = bundle.read(b"".join(evidence_lines(connection, run, size)))
    return bundle.verify(made, Policy.of(log.recorded.key.public))


def verify(log: Attacked, run: str) -> tuple[int, str, dict[str, Any]]:
    """What `verify RUN` says to people and to programs."""
    said = log.command("verify", run, "--key", log.public_key)
    told = log.command("verify", run, "--key", log.public_key, "--format", "json")
    assert said.exit_code == told.exit_code
    return said.exit_code, said.output, json.loads(told.stdout)


def test_a_run_is_proven_while_another_one_of_its_configuration_has_begun_which_counts_once_signed(
    log: Attacked,
) -> None:
    begin_another(log)
    code, said, told = verify(log, "2")
    assert (code, "attempt 2 of 2" in said, told["verdict"]) == (0, True, "genuine")
    assert f"as of the checkpoint of {log.recorded.sizes.other} events" in said
    assert told["checkpoint"] == log.recorded.sizes.other

    file = log.folder / "run.evidence"
    made = log.command("evidence", "export", "2", "-o", file, "--no-checkpoint")
    assert made.exit_code == 0, made.output
    proven = log.command("evidence", "verify", file, "--key", log.public_key)
    assert (proven.exit_code, "attempt 2 of 2" in proven.output) == (0, True)

    sign(log)
    assert as_of(log, PASSED).contents.attempts == 3
    # What an older checkpoint stands for is what it always stood for.
    assert as_of(log, PASSED, log.recorded.sizes.other).contents.attempts == 2


def test_a_run_that_begins_while_evidence_is_made_is_no_part_of_it(
    log: Attacked, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = run_evidence._checkpoint

    def choose(*arguments: Any) -> Any:
        found = chosen(*arguments)
        begin_another(log)
        sign(log)
        return found

    monkeypatch.setattr(run_evidence, "_checkpoint", choose)
    proven = as_of(log, PASSED)
    assert (proven.contents.attempts, proven.checkpoint.size) == (2, log.recorded.sizes.other)


def test_a_review_behind_the_checkpoint_is_no_part_of_the_evidence(log: Attacked) -> None:
    evaluation = UUID(bytes=log.event("Scored", PASSED).stream_id)
    before = log.evidence(PASSED)
    with log.engine() as store:
        author = Author(store, log.recorded.key)
        author.add(
            Reviewed, review_id(evaluation), None, about=PASSED, who="w", where="h",
            evaluation_id=evaluation, reviewer="r", items=(), verdict="pass", severity=None,
            tags=(), notes="", blind=False, file_sha256=None, sheet=None,
            queue=None, seconds=None, adjudicates=False,
        )  # fmt: skip
        author.flush()
    assert log.evidence(PASSED) == before
    sign(log)
    assert log.evidence(PASSED).checkpoint.size > before.checkpoint.size


def test_what_is_said_of_a_run_after_its_seal_may_be_signed_later(log: Attacked) -> None:
    with log.engine() as store:
        author = Author(store, log.recorded.key)
        author.follow(PASSED, sum(row.stream_id == PASSED.bytes for row in log.rows()))
        author.add(RunResumed, PASSED, PASSED, who="w", where="h", code_version="1")
        author.flush()
    assert verify(log, "2")[2]["verdict"] == "genuine"


def test_a_run_whose_seal_is_not_signed_yet_is_called_that_and_exits_3(log: Attacked) -> None:
    size = log.recorded.sizes.passed
    log.tamper(f"DELETE FROM failproof.ledger_checkpoints WHERE tree_size > {size}")
    code, said, told = verify(log, "3")
    assert (code, told["verdict"], told["genuine"]) == (3, "not_signed", False)
    assert "run 3: not signed yet: " in said and "`failproof-es ledger checkpoint`" in said
    assert "NOT" not in said
    file = log.folder / "run.evidence"
    made = log.command("evidence", "export", "3", "-o", file, "--no-checkpoint")
    assert (made.exit_code, "not signed yet" in made.output, file.exists()) == (3, True, False)
    sign(log)
    assert verify(log, "3")[2]["verdict"] == "genuine"


def test_a_run_on_a_log_without_a_checkpoint_is_not_signed_yet(log: Attacked) -> None:
    log.tamper("DELETE FROM failproof.ledger_checkpoints")
    code, said, told = verify(log, "2")
    assert (code, told["verdict"]) == (3, "not_signed")
    assert "the log has no checkpoint" in said


def test_a_run_that_has_not_ended_is_not_sealed_yet_and_exits_3(log: Attacked) -> None:
    begin_another(log)
    code, said, told = verify(log, "4")
    assert (code, told["verdict"]) == (3, "not_sealed")
    assert "run 4: not sealed yet: " in said
    file = log.folder / "run.evidence"
    made = log.command("evidence", "export", "4", "-o", file, "--no-checkpoint")
    assert (made.exit_code, "not sealed yet" in made.output, file.exists()) == (3, True, False)


def test_a_run_is_proven_as_of_the_checkpoint_that_is_asked_for(log: Attacked) -> None:
    sizes = log.recorded.sizes
    assert as_of(log, FAILED, sizes.failed).contents.attempts == 1
    assert as_of(log, FAILED, sizes.passed).contents.attempts == 2
    assert as_of(log, FAILED).checkpoint.size == sizes.other
    with pytest.raises(NotProvenYet, match="not signed yet"):
        as_of(log, OTHER, sizes.passed)
    with pytest.raises(InvalidInput, match=r"\[no-checkpoint\]"):
        as_of(log, FAILED, 7)


def test_an_event_of_an_evaluation_behind_the_checkpoint_is_not_signed_and_then_a_change(
    log: Attacked,
) -> None:
    """What a sealed run's evaluations hold belongs under its seal."""
    with log.superuser.transaction():
        end = log.fetch("SELECT max(notification_id) + 1 FROM failproof.events")[0][0]
        log.superuser.execute(insert(end).encode())
    with pytest.raises(NotProvenYet) as yet:
        log.evidence(PASSED)
    assert yet.value.missing is Missing.CHECKPOINT
    sign(log)
    with pytest.raises(EvidenceError) as now:
        log.evidence(PASSED)
    assert not isinstance(now.value, NotProvenYet)


def test_a_run_that_was_changed_is_not_exported_and_that_is_exit_code_1(log: Attacked) -> None:
    log.tamper(f"DELETE FROM failproof.events WHERE run_id = '{PASSED}' AND topic = 'Scored'")
    file = log.folder / "run.evidence"
    made = log.command("evidence", "export", "2", "-o", file, "--no-checkpoint")
    assert (made.exit_code, file.exists()) == (1, False)
    assert "cannot be exported" in made.output
    code, _, told = verify(log, "2")
    assert (code, told["verdict"]) == (1, "changed")


def test_a_checkpoint_that_is_none_does_not_stand_in_the_way_of_the_good_ones(
    log: Attacked,
) -> None:
    log.tamper("INSERT INTO failproof.ledger_checkpoints (tree_size, note) VALUES (99999, 'none')")
    assert log.evidence(PASSED).checkpoint.size == log.recorded.sizes.other


def test_a_checkpoint_with_a_bad_signature_stands_in_no_evidence_s_way(log: Attacked) -> None:
    """The engine's login can put one there: this tree, and a signature that is none."""
    key = log.recorded.key.public
    with log.engine() as store, store.connect() as connection:
        newest = ledger.newest_checkpoint(connection)
        assert newest is not None
        genuine = checkpoint.opened(note.parse(newest.note), key)
        head, _, line = newest.note.rstrip("\n").rpartition(" ")
        signature = bytearray(b64decode(line))
        signature[-1] ^= 1
        forged = f"{head} {b64encode(signature).decode()}\n"
        ledger.add_checkpoint(connection, genuine.size, forged)
    with log.auditor() as connection:
        made = bundle.read(b"".join(evidence_lines(connection, PASSED, key=key)))
    assert bundle.verify(made, Policy.of(key)).checkpoint == genuine
    code, said, _ = verify(log, "2")
    assert code == 0, said
