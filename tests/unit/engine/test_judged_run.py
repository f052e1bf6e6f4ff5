"""The digests of how the judges of a run were asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from failproof_es.engine.calibration import judged_run
from failproof_es.events import RunStarted
from tests.unit.event_samples import SAMPLES


def test_an_answer_that_was_lost_changes_no_rubric(monkeypatch: pytest.MonkeyPatch) -> None:
    (started,) = (event for event in SAMPLES if isinstance(event, RunStarted))
    run: Any = SimpleNamespace(started=started)

    def digest(*scored: bool) -> str:
        planned = [_evaluation(number, is_scored) for number, is_scored in enumerate(scored)]
        monkeypatch.setattr(judged_run, "recorded_evaluations", lambda *_, **__: planned)
        judged = judged_run.read_judged_run(None, run)  # type: ignore[arg-type]
        assert len(judged.evaluations) == sum(scored)
        return judged.rubric_sha256

    assert digest(True, True) == digest(True, False) != digest(True)


def _evaluation(number: int, is_scored: bool) -> Any:
    """A planned evaluation of a case of its own, judged or without a score."""
    document = {"dialect": "failproof", "turns": [{"role": "user", "content": f"{number}"}]}
    case = SimpleNamespace(
        expectation={}, family=("s", f"{number}"), model_dump=lambda **_: document
    )
    score = SimpleNamespace(passed=True) if is_scored else None
    return SimpleNamespace(
        key=SimpleNamespace(evaluation_id=UUID(int=number), model_key="talker"),
        case=case,
        history=(),
        state=lambda: SimpleNamespace(verdicts=("a verdict",), score=score),
    )
