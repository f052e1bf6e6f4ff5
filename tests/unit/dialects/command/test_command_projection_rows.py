"""The rows of `command_results`: what a reply that was cut off comes to, scored or not."""

from __future__ import annotations

from typing import Any, cast

import orjson
import pytest

from failproof_es.dialects.kit import cut_off
from failproof_es.dialects.shipped.command.projection import CommandResults
from projections.protocol import Cursor, Fact

STREAM = "00000000-0000-0000-0000-000000000001"


class Recorder:
    """A cursor that keeps what is executed."""

    def __init__(self) -> None:
        self.columns: list[list[Any]] = []

    def execute(self, _: str, columns: list[list[Any]]) -> None:
        """Keep the columns."""
        self.columns = columns


def written(topic: str, **payload: Any) -> list[Any]:
    """The one row that is written for this event."""
    cursor = Recorder()
    told = {"timestamp": "2026-11-28T12:00:00Z", "prompt_id": STREAM, **payload}
    fact = Fact(1, STREAM, topic, STREAM, told)
    CommandResults().apply(cast(Cursor, cursor), [fact])
    return [column[0] for column in cursor.columns]


@pytest.mark.parametrize(
    ("scorer", "scored", "reason"),
    [
        ("command.success", True, None),
        (cut_off.SCORER, True, None),
        (cut_off.STOPPED_SCORER, False, {"type": "backend_error", "message": "why"}),
    ],
)
def test_what_fails_unread_is_finished_and_has_not_passed(
    scorer: str, scored: bool, reason: dict[str, str] | None
) -> None:
    _, was_scored, told, _ = written("Scored", scorer=scorer, reason="why")
    assert was_scored is scored, "what is not scored has not passed"
    assert (None if told is None else orjson.loads(told)) == reason
    assert written("Scored", scorer="another", reason="why") == []


@pytest.mark.parametrize(("was_cut_off", "answered"), [(True, False), (False, True)])
def test_a_reply_that_was_cut_off_is_no_answer_whose_safety_is_known(
    was_cut_off: bool, answered: bool
) -> None:
    details = {"category": "posix", "reason": None, "cut_off": was_cut_off}
    row = written(
        "Classified", classifier="command.classifier", primary="pass", details=details,
        model_key="m", repetition=1,
    )  # fmt: skip
    assert row[-2:] == [answered, False]
