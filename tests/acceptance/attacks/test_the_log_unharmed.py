"""Without an attack nothing is found: else the attacks would prove nothing."""

from __future__ import annotations

from tests.acceptance.attacks.conftest import Attacked
from tests.acceptance.attacks.world import FAILED, PASSED


def test_the_log_as_recorded_is_genuine(log: Attacked) -> None:
    sizes = log.recorded.sizes
    result = log.verify(outside=True)
    assert result.findings == []
    assert (result.signed_size, result.anchored_size) == (sizes.other, sizes.passed)
    assert result.tree_size == sizes.all > 512


def test_taking_the_guards_down_and_putting_them_up_is_found_by_nobody(log: Attacked) -> None:
    """What stands in the schema is as it was: it is the rows that tell."""
    log.tamper()
    assert log.verify(outside=True).genuine


def test_both_attempts_prove_themselves(log: Attacked) -> None:
    assert (log.evidence(FAILED).contents.attempt, log.evidence(FAILED).contents.attempts) == (1, 2)
    assert log.evidence(PASSED).contents.attempts == 2


def test_the_command_line_says_genuine(log: Attacked) -> None:
    said = log.command("verify", "--key", log.public_key, "--checkpoint", log.kept_file)
    assert (said.exit_code, "genuine" in said.output) == (0, True), said.output
