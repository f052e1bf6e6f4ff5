"""Impossible rows, read by whoever else reads the log: commands, a run that signs, the seal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from failproof_es.assurance.signing.checkpoint_signer import CheckpointSigner
from failproof_es.assurance.signing.integrator import LedgerBroken, integrate
from failproof_es.engine.finish.sealing import seal_of
from failproof_es.store import ledger
from tests.acceptance.attacks.conftest import Attacked
from tests.acceptance.attacks.deadline import within_seconds
from tests.acceptance.attacks.test_impossible_rows import (
    CHANGED,
    EVENTS,
    IMPOSSIBLE,
    Odd,
    of,
    plant,
)
from tests.acceptance.attacks.world import PASSED
from tests.acceptance.commands import run, write_configuration, write_suite
from tests.selection import slow_except

READERS = [
    ("verify",),
    ("verify", "2"),
    ("ledger", "checkpoint"),
    ("evidence", "export", "2", "-o", "run.evidence"),
    ("evidence", "export", "2", "-o", "run.evidence", "--no-checkpoint"),
    ("log",),
    ("log", "2", "--format", "jsonl"),
]
TO_BE_READ = [
    *[odd for odd in IMPOSSIBLE if odd.name not in ("lowest version", "topic 10 MB")],
    *[odd for odd in CHANGED if odd.name in ("topic not UTF-8", "state empty", "state not UTF-8")],
    Odd("state deep", "state", "convert_to(repeat('[', 100000), 'UTF8')", ""),
    Odd("recorded at infinity", "recorded_at", "'infinity'", ""),
    Odd("recorded before Christ", "recorded_at", "'4713-01-01 00:00:00 BC'", ""),
]


_AT_ONCE = (IMPOSSIBLE[0], IMPOSSIBLE[3], CHANGED[3], TO_BE_READ[-1])


@pytest.mark.slow
@pytest.mark.parametrize("odd", slow_except(_AT_ONCE, TO_BE_READ), ids=of)
@pytest.mark.thinned(fast=3, whole=4)
def test_every_command_that_reads_such_a_row_ends_with_words(log: Attacked, odd: Odd) -> None:
    """Once where the tree has the event, and once behind it."""
    for position in (log.event("Scored", PASSED, 7).position, log.rows()[-1].position):
        plant(
            log, EVENTS, f"UPDATE failproof.events SET {odd.column} = {odd.value} "
            f"WHERE notification_id = {position}",
        )  # fmt: skip
    for arguments in READERS:
        with within_seconds(60):
            said = log.command(*arguments, url=log.url)
        assert said.exit_code in (0, 1), (arguments, said.output)
        if arguments == ("verify",):
            assert said.exit_code == 1
        if said.exit_code:
            assert said.output.strip(), arguments
            assert "Error:" not in said.output and "NoneType" not in said.output, said.output


@pytest.fixture
def started(log: Attacked, mock_url: str) -> Iterator[Attacked]:
    write_suite(log.folder, 2)
    write_configuration(log.folder, mock_url)
    yield log


@pytest.mark.parametrize(
    "odd",
    slow_except(
        _AT_ONCE[:1], (IMPOSSIBLE[0], IMPOSSIBLE[3], IMPOSSIBLE[6], CHANGED[3], CHANGED[6])
    ),
    ids=of,
)
@pytest.mark.thinned(whole=3)
def test_a_run_on_a_log_with_such_a_row_ends_and_says_that_the_log_could_not_be_signed(
    started: Attacked, odd: Odd
) -> None:
    log = started
    position = log.rows()[-1].position
    plant(
        log, EVENTS, f"UPDATE failproof.events SET {odd.column} = {odd.value} "
        f"WHERE notification_id = {position}",
    )  # fmt: skip
    home = log.folder / "home"  # without the checkpoints that runs of other copies kept
    shutil.copytree(log.recorded.home, home, ignore=shutil.ignore_patterns("*checkpoint*"))
    done = run(log.url, "start", "run.yaml", cwd=log.folder, FAILPROOF_ES_HOME=str(home))
    assert "error: the log was changed: " in done.stderr
    assert f"position {position} " in done.stderr


def test_the_thread_that_signs_outlives_whatever_goes_wrong_and_says_it(
    log: Attacked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that nobody foresaw is a trouble like any other."""

    def fails(_: object) -> None:
        raise AssertionError("nobody foresaw this")

    monkeypatch.setattr(
        "failproof_es.assurance.signing.checkpoint_signer.sign_and_keep_checkpoint", fails
    )
    with log.engine() as store, CheckpointSigner(store, every_s=600) as keeper:
        pass
    assert isinstance(keeper.trouble, AssertionError)


def test_a_run_with_such_an_event_is_not_sealed(log: Attacked) -> None:
    forged = log.event("Scored", PASSED, 7)
    plant(
        log, EVENTS, "UPDATE failproof.events SET originator_version = -1 "
        f"WHERE notification_id = {forged.position}",
    )  # fmt: skip
    with (
        within_seconds(60),
        log.auditor() as connection,
        pytest.raises(LedgerBroken, match=f"position {forged.position} .*its version is -1"),
    ):
        seal_of(connection, PASSED)


def test_after_a_row_that_is_refused_the_same_connection_goes_on(log: Attacked) -> None:
    plant(
        log, EVENTS, "UPDATE failproof.events SET originator_version = -1 "
        f"WHERE notification_id = {log.rows()[-1].position}",
    )  # fmt: skip
    with within_seconds(60), log.engine() as store, store.connect() as connection:
        for _ in range(2):
            with pytest.raises(LedgerBroken):
                integrate(connection)
        assert ledger.count_events(connection) == log.recorded.sizes.all
