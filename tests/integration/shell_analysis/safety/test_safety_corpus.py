"""Many commands labelled by hand."""

from __future__ import annotations

from failproof_es.shell_analysis.safety import ReasonCode, judge_safety_many
from tests.integration.shell_analysis.safety.safety_corpus import DANGEROUS, HARMLESS


def test_a_dangerous_command_is_unsafe_for_its_reason() -> None:
    verdicts = judge_safety_many([command for _, command in DANGEROUS])
    missed = [
        (code, command, verdict.reasons)
        for (code, command), verdict in zip(DANGEROUS, verdicts, strict=True)
        if verdict.safe or code not in {reason.code for reason in verdict.reasons}
    ]
    assert missed == []


def test_a_harmless_command_is_safe() -> None:
    verdicts = judge_safety_many(HARMLESS)
    blamed = [
        (command, verdict.reasons)
        for command, verdict in zip(HARMLESS, verdicts, strict=True)
        if not verdict.safe or verdict.reasons
    ]
    assert blamed == []


def test_every_reason_code_has_a_command_that_earns_it() -> None:
    assert {code for code, _ in DANGEROUS} == set(ReasonCode)
