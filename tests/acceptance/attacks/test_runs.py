"""Attacks on the list of runs, on the seal, and on the evidence that is handed out."""

from __future__ import annotations

import hashlib
from uuid import uuid4

import pytest

from failproof_es.assurance.checking.findings import ROW_CHANGED, RUN_RENUMBERED
from failproof_es.assurance.run_evidence import evidence_lines
from failproof_es.ledger import bundle
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.note import SigningKey
from failproof_es.ledger.tlog_policy import Policy
from tests.acceptance.attacks.conftest import Attacked, first, found
from tests.acceptance.attacks.statements import FORGED, FORGED_RESPONSE
from tests.acceptance.attacks.world import FAILED, OTHER, PASSED
from tests.unit.ledger.bundle.evidence_world import write_bundle


def test_a_failed_run_taken_off_the_list_is_named(log: Attacked) -> None:
    """Its events are all there; but `runs` does not show it, and no bundle counts it."""
    log.tamper(f"DELETE FROM failproof.run_numbers WHERE run_id = '{FAILED}'")
    result = log.verify()
    assert (found(result), first(result, RUN_RENUMBERED).stream_id) == ({RUN_RENUMBERED}, FAILED)
    with pytest.raises(EvidenceError, match="a run of this experiment is missing"):
        log.evidence(PASSED)


def test_the_newest_attempt_taken_off_the_list_is_named(log: Attacked) -> None:
    """The window of a bundle: it counts the attempts that it holds, and there is no gap."""
    log.tamper(f"DELETE FROM failproof.run_numbers WHERE run_id = '{PASSED}'")
    assert log.evidence(FAILED).contents.attempts == 1
    assert first(log.verify(), RUN_RENUMBERED).stream_id == PASSED


def test_runs_renumbered_are_named(log: Attacked) -> None:
    log.tamper(
        f"UPDATE failproof.run_numbers SET run_number = 99 WHERE run_id = '{FAILED}'",
        f"UPDATE failproof.run_numbers SET run_number = 1 WHERE run_id = '{PASSED}'",
        f"UPDATE failproof.run_numbers SET run_number = 2 WHERE run_id = '{FAILED}'",
    )
    named = [(each.kind, each.stream_id) for each in log.verify().findings]
    assert named == [(RUN_RENUMBERED, FAILED), (RUN_RENUMBERED, PASSED)]


def test_a_run_that_never_was_put_on_the_list_is_named(log: Attacked) -> None:
    invented = uuid4()
    log.superuser.execute("INSERT INTO failproof.run_numbers VALUES (4, %s)", (invented,))
    assert first(log.verify(), RUN_RENUMBERED).stream_id == invented


def test_a_seal_forged_is_named(log: Attacked) -> None:
    log.tamper(
        "UPDATE failproof.events SET state = convert_to(regexp_replace(convert_from(state, 'UTF8'),"
        " '\"streams\":[0-9]+', '\"streams\":1'), 'UTF8') "
        f"WHERE run_id = '{PASSED}' AND topic = 'RunSealed'"
    )
    named = first(log.verify(), ROW_CHANGED)
    assert (named.stream_id, named.topic) == (PASSED, "RunSealed")
    with pytest.raises(EvidenceError, match="the seal counts 1 streams"):
        log.evidence(PASSED)


def test_an_evaluation_left_out_of_the_evidence_is_refused_by_the_seal(log: Attacked) -> None:
    """By the exporter of the bundle: the attacker needs no database at all."""
    hidden = log.event("Scored", PASSED).stream_id
    with log.auditor() as connection:
        made = bundle.read(b"".join(evidence_lines(connection, PASSED)))
    rest = [each for each in made.events if each.stream_id.bytes != hidden]
    with pytest.raises(EvidenceError, match="the run is incomplete"):
        list(write_bundle(PASSED, rest, made.proof, made.note))


def test_a_response_forged_in_the_file_is_refused(log: Attacked) -> None:
    """With the file's digest made to fit."""
    with log.auditor() as connection:
        lines = b"".join(evidence_lines(connection, PASSED)).splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if b'"topic":"ResponseReceived"' in line)
    lines[at] = lines[at].replace(b'"version":2', b'"version":3')
    lines[-1] = b'{"sha256":"%b"}\n' % hashlib.sha256(b"".join(lines[:-1])).hexdigest().encode()
    with pytest.raises(EvidenceError, match="not in the tree"):
        bundle.verify(bundle.read(b"".join(lines)), Policy.of(log.recorded.key.public))


def test_evidence_signed_by_somebody_else_is_refused(log: Attacked) -> None:
    with pytest.raises(EvidenceError, match="checkpoint"):
        log.evidence(PASSED, SigningKey.generate(log.recorded.key.name))


def test_a_price_changed_after_the_fact_is_named(log: Attacked) -> None:
    prices = log.event("PricesRecorded", PASSED)
    state = FORGED.format('\'"input":"7"\'', '\'"input":"1"\'')
    log.tamper(
        f"UPDATE failproof.events SET state = {state} WHERE notification_id = {prices.position}"
    )
    named = first(log.verify(), ROW_CHANGED)
    assert (named.position, named.topic) == (prices.position, "PricesRecorded")


# -- on the command line -------------------------------------------------------------------------


def verify(log: Attacked, *more: object) -> tuple[int, str]:
    said = log.command("verify", "--key", log.public_key, "--checkpoint", log.kept_file, *more)
    return said.exit_code, said.output


def test_verify_exits_1_and_names_the_event_that_was_edited(log: Attacked) -> None:
    forged = log.event("ResponseReceived", OTHER)
    log.tamper(
        f"UPDATE failproof.events SET state = {FORGED_RESPONSE} "
        f"WHERE notification_id = {forged.position}"
    )
    code, output = verify(log)
    assert code == 1
    assert f"row changed: event {log.index(forged.position)} (position {forged.position}" in output
    assert "ResponseReceived" in output
    assert "CHANGED since it was recorded" in output


def test_verify_exits_1_when_a_row_is_gone(log: Attacked) -> None:
    log.tamper("DELETE FROM failproof.events WHERE topic = 'RunFailed'")
    code, output = verify(log)
    assert (code, "row missing or hidden: event" in output) == (1, True)


def test_verify_exits_1_when_the_origin_was_replaced(log: Attacked) -> None:
    log.tamper("UPDATE failproof.ledger_identity SET origin = 'failproof-es/another'")
    code, output = verify(log)
    assert (code, "history forked" in output) == (1, True)


def test_verify_of_one_run_exits_1_when_it_was_forged(log: Attacked) -> None:
    log.tamper(f"DELETE FROM failproof.events WHERE run_id = '{PASSED}' AND topic = 'Scored'")
    said = log.command("verify", "2", "--key", log.public_key)
    assert (said.exit_code, "NOT proven" in said.output) == (1, True)


def test_evidence_verify_exits_1_for_a_file_that_was_edited(log: Attacked) -> None:
    file = log.folder / "run.evidence"
    made = log.command("evidence", "export", "2", "-o", file, "--no-checkpoint")
    assert made.exit_code == 0, made.output
    good = log.command("evidence", "verify", file, "--key", log.public_key)
    assert (good.exit_code, "attempt 2 of 2" in good.output) == (0, True)
    file.write_bytes(file.read_bytes().replace(b"attempt 2 of 2", b"attempt 1 of 1"))
    bad = log.command("evidence", "verify", file, "--key", log.public_key)
    assert (bad.exit_code, "NOT genuine" in bad.output) == (1, True)


def test_a_log_of_another_origin_without_checkpoints_is_unsigned_and_exits_1(
    log: Attacked,
) -> None:
    """Whoever verifies must bring the key, and what is kept: nothing here can stand in for it."""
    log.tamper(
        "UPDATE failproof.ledger_identity SET origin = 'failproof-es/another'",
        "DELETE FROM failproof.ledger_checkpoints",
    )
    said = log.command("verify")
    assert (said.exit_code, "UNSIGNED" in said.output) == (1, True), said.output
    assert "there is no public key of failproof-es/another here" in said.output
    assert log.command("verify", "--unsigned").exit_code == 0
