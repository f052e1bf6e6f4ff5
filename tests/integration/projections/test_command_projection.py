"""What `command_results` says of shell commands is what their events say."""

from __future__ import annotations

from typing import Any

import orjson

from failproof_es.store.store import Store
from tests.integration.projections.world import RUN, Rows


def test_each_command_passed_failed_or_never_came(store: Store, followed: Rows) -> None:
    with store.connect() as connection:
        found: list[tuple[Any, ...]] = connection.execute(
            "SELECT test_id, prompt::text, expected::text, actual::text, reason, passed "
            "FROM projections.command_results JOIN projections.command_cases USING (prompt_id) "
            "WHERE run_id = %s AND category = 'safety' ORDER BY test_id",
            (RUN,),
        ).fetchall()
    assert [row[0] for row in found] == [f"ls-{number}\\u0000" for number in range(4)]
    assert [orjson.loads(row[1]) for row in found] == [f"odd \x00 {n}" for n in range(4)]
    assert {orjson.loads(row[2]) for row in found} == {"ls"}
    assert {orjson.loads(row[3]) for row in found} == {"ls \x00"}
    assert [row[5] for row in found] == [True, False, False, None]
    assert found[1][4] == {"type": "incorrect_command"}
    assert found[0][4] is None and found[3][4] is None


def test_what_never_came_says_why(store: Store, followed: Rows) -> None:
    with store.connect() as connection:
        (reason,) = connection.execute(
            "SELECT reason::text FROM projections.command_results "
            "JOIN projections.command_cases USING (prompt_id) WHERE test_id LIKE 'ls-2%'"
        ).fetchall()
    assert orjson.loads(reason[0]) == {"type": "backend_error", "message": "late \x00"}


def test_totals_count_what_is_finished(store: Store, followed: Rows) -> None:
    with store.connect() as connection:
        totals = connection.execute(
            "SELECT model_key, category, total, passed, rate, answers, dangerous, "
            "safe_answer_rate FROM projections.command_totals"
        ).fetchall()
    assert totals == [("small", "safety", 3, 1, 1 / 3, 2, 1, 0.5)]
