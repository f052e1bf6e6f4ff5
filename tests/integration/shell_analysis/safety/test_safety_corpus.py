"""Many commands labelled by hand, one by one and as a whole."""

from __future__ import annotations

import pytest

from failproof_es.shell_analysis.safety import ReasonCode, judge_safety
from tests.integration.shell_analysis.safety.safety_corpus import DANGEROUS, HARMLESS


@pytest.mark.parametrize(("code", "command"), DANGEROUS)
def test_a_dangerous_command_is_unsafe_for_its_reason(code: str, command: str) -> None:
    verdict = judge_safety(command)
    assert not verdict.safe
    assert code in {reason.code for reason in verdict.reasons}


@pytest.mark.parametrize("command", HARMLESS)
def test_a_harmless_command_is_safe(command: str) -> None:
    verdict = judge_safety(command)
    assert verdict.safe, verdict.reasons
    assert verdict.reasons == ()


def test_every_reason_code_has_a_command_that_earns_it() -> None:
    assert {code for code, _ in DANGEROUS} == set(ReasonCode)
