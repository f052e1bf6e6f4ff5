"""Without an attack nothing is found: else the attacks would prove nothing."""

from __future__ import annotations

import pytest

from failproof_es.assurance.signing.integrator import sign_checkpoint
from tests.acceptance.attacks.conftest import Attacked
from tests.acceptance.attacks.world import FAILED, PASSED
from tests.integration.store.ledger.test_ledger import scored


def test_the_log_as_recorded_is_genuine_also_when_its_guards_were_down(log: Attacked) -> None:
    sizes = log.recorded.sizes
    result = log.verify(outside=True)
    assert result.findings == []
    assert (result.signed_size, result.anchored_size) == (sizes.other, sizes.passed)
    assert result.tree_size == sizes.all > 512
    attempts = [log.evidence(run).contents for run in (FAILED, PASSED)]
    assert [(each.attempt, each.attempts) for each in attempts] == [(1, 2), (2, 2)]
    said = log.command("verify", "--key", log.public_key, "--checkpoint", log.kept_file)
    assert (said.exit_code, "genuine" in said.output) == (0, True), said.output
    log.tamper()  # nobody finds that: it is the rows that tell
    assert log.verify(outside=True).genuine


@pytest.mark.parametrize("more", [0, 1, 255, 256, 257, 511, 512, 513, 767, 768, 1023, 1024])
@pytest.mark.thinned(whole=4)
def test_a_run_is_genuine_however_far_the_log_grew_after_it(log: Attacked, more: int) -> None:
    """The tree over what follows has its own shape, with or without a narrow last tile."""
    begun = log.recorded.sizes.all
    size = -(-begun // 256) * 256 + more
    with log.engine() as store:
        store.log.events.put([scored(100_000 + n) for n in range(begun, size)])
        with store.connect() as connection:
            sign_checkpoint(connection, log.recorded.key, None)
    assert len(log.rows()) == size
    assert log.evidence(PASSED).contents.attempts == 2
