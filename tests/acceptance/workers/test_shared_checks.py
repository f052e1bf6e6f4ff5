"""What the workers of one command checked is compared at the end of the run, not checked again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from failproof_es.engine.finish import final_pass, shared_checks
from failproof_es.engine.finish.live_checks import CheckedPart, LiveChecks
from failproof_es.engine.finish.shared_checks import SharedChecks
from failproof_es.engine.history import iterate_evaluations
from failproof_es.store.store import Store
from tests.acceptance.runs.tampering import WAYS, tampering
from tests.acceptance.runs.test_live_checks import (
    SEED,
    Driven,
    facts,
    faulty,
    of_run,
    recorded_faults,
    template,
)
from tests.integration.engine.working import CASES, Working, count, drive, plan
from tests.servers.mock_server import MockServer

__all__ = ["faulty", "recorded_faults", "template"]  # fixtures


@pytest.fixture
def shared(tmp_path: Path) -> SharedChecks:
    folder = tmp_path / "checks"
    folder.mkdir(mode=0o700)
    return SharedChecks(folder)


def taken_over(driven: Driven, shared: SharedChecks, *, scores: bool = True) -> LiveChecks:
    """Those of a process that checked nothing itself."""
    checks = LiveChecks(driven.run, scores=scores)
    shared.take_over(checks)
    return checks


def left(driven: Driven, shared: SharedChecks) -> CheckedPart:
    part = driven.checked.hand_over()
    assert part is not None
    shared.leave(part)
    return part


def test_what_another_process_checked_leads_to_the_same_end(
    store: Store, faulty: Driven, shared: SharedChecks, monkeypatch: pytest.MonkeyPatch
) -> None:
    left(faulty, shared)
    with store.connect() as connection:
        in_full = facts(connection, faulty.run, None)
        monkeypatch.setattr(final_pass, "_read_all", None)  # all of it is compared
        assert facts(connection, faulty.run, taken_over(faulty, shared)) == in_full


def test_what_was_handed_over_is_not_handed_over_again(faulty: Driven) -> None:
    checked = faulty.checked
    assert checked.hand_over() is not None
    assert checked.hand_over() is None


def test_rows_that_were_altered_since_are_found_as_by_a_full_reading(
    store: Store, faulty: Driven, shared: SharedChecks
) -> None:
    left(faulty, shared)
    rows = of_run(store)
    chance = random.Random(SEED)
    for way in WAYS:
        with tampering(store.url) as connection:
            way(connection, chance, rows)
            in_full = facts(connection, faulty.run, None)
            found = facts(connection, faulty.run, taken_over(faulty, shared))
            assert found == in_full, way.__name__


def test_what_was_left_twice_is_read_in_full(
    store: Store, faulty: Driven, shared: SharedChecks
) -> None:
    shared.leave(left(faulty, shared))
    with store.connect() as connection:
        in_full = facts(connection, faulty.run, None)
        assert facts(connection, faulty.run, taken_over(faulty, shared)) == in_full


def test_without_the_scores_that_are_wanted_it_is_of_no_use(
    faulty: Driven, shared: SharedChecks
) -> None:
    part = faulty.checked.hand_over()
    assert part is not None and part.scores
    shared.leave(part._replace(scores=None))
    assert len(taken_over(faulty, shared, scores=False).streams) > 0
    assert len(taken_over(faulty, shared).streams) == 0


def test_at_other_prices_it_is_of_no_use(faulty: Driven, shared: SharedChecks) -> None:
    part = faulty.checked.hand_over()
    assert part is not None and part.prices
    shared.leave(part._replace(prices={}))
    assert len(taken_over(faulty, shared).streams) == 0


def test_a_folder_that_others_may_enter_is_not_believed(
    faulty: Driven, shared: SharedChecks
) -> None:
    part = left(faulty, shared)
    for mode in (0o750, 0o701, 0o707):
        shared.folder.chmod(mode)
        assert len(taken_over(faulty, shared).streams) == 0, oct(mode)
        shared.leave(part)
    shared.folder.chmod(0o700)
    assert len(list(shared.folder.iterdir())) == 1, "and nothing is left there"


def test_what_is_damaged_or_of_other_code_is_left_out(
    faulty: Driven, shared: SharedChecks, monkeypatch: pytest.MonkeyPatch
) -> None:
    left(faulty, shared)
    [file] = shared.folder.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", b"not it", whole[: len(whole) // 2], whole[:-1]):
        file.write_bytes(damaged)
        assert len(taken_over(faulty, shared).streams) == 0
    file.write_bytes(whole)
    assert len(taken_over(faulty, shared).streams) > 0
    monkeypatch.setattr(shared_checks, "code_version", lambda: "another")
    assert len(taken_over(faulty, shared).streams) == 0


def test_a_folder_that_is_gone_is_nothing(faulty: Driven, shared: SharedChecks) -> None:
    part = left(faulty, shared)
    [file] = shared.folder.iterdir()
    file.unlink()
    shared.folder.rmdir()
    assert len(taken_over(faulty, shared).streams) == 0
    shared.leave(part)


@pytest.fixture
def read_in_full(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many evaluations were read in full at the end."""
    found: list[int] = []
    iterate, read_all = iterate_evaluations, final_pass._read_all

    def counted(connection: Any, keys: Sequence[Any], **how: Any) -> Any:
        found.append(len(keys))
        return iterate(connection, keys, **how)

    def all_read(*arguments: Any) -> Any:
        found.append(CASES)
        return read_all(*arguments)

    monkeypatch.setattr(final_pass, "iterate_evaluations", counted)
    monkeypatch.setattr(final_pass, "_read_all", all_read)
    yield found


@pytest.mark.parametrize("sharing", [True, False], ids=["sharing", "apart"])
@pytest.mark.slow
@pytest.mark.thinned(whole=1)
def test_two_workers_of_one_command_check_each_evaluation_once(
    store: Store, tmp_path: Path, shared: SharedChecks, read_in_full: list[int], sharing: bool
) -> None:
    async def main(server: MockServer) -> None:
        await asyncio.to_thread(plan, store, tmp_path, server.url)
        folder = shared if sharing else None
        async with (
            Working(store, drain=True, shared=folder) as one,
            Working(store, drain=True, shared=folder) as other,
        ):
            await one.left()
            await other.left()
        assert one.worker.finished and other.worker.finished
        assert one.worker.finished + other.worker.finished == CASES

    drive(main, latency_s=0.02)
    assert count(store, "RunSealed") == 1
    assert (sum(read_in_full) == 0) is sharing
