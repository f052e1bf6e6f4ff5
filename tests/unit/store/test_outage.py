"""What is said of an outage: one line at its begin, one at its end."""

from __future__ import annotations

import time

import psycopg
import pytest

from failproof_es.store import outage
from failproof_es.store.outage import LogUnavailable, Outage, OutageReport


@pytest.mark.parametrize(
    ("errors", "lines"),
    [
        ([], []),
        ([psycopg.OperationalError("refused\n  by 10.0.0.1")] * 3, ["away", "back"]),
        ([psycopg.errors.DeadlockDetected()], []),
    ],
)
def test_an_outage_is_said_once_at_its_begin_and_once_at_its_end(
    errors: list[Exception], lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(outage, "_WORTH_SAYING_S", 0.0)
    said: list[str] = []
    left = list(errors)

    def call() -> str:
        if left:
            raise left.pop()
        return "done"

    assert Outage(report=OutageReport(said.append)).retry(call) == "done"
    assert [line.split()[3].strip(":") for line in said] == lines
    if said:
        assert said[0] == "the database is away: refused by 10.0.0.1; waiting for it"


def test_the_end_of_an_outage_that_outlasted_a_call_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(outage, "_WORTH_SAYING_S", 0.0)
    said: list[str] = []
    waiting = Outage(longest_s=0.01, report=OutageReport(said.append))

    def refuse() -> str:
        raise psycopg.OperationalError("refused")

    for _ in range(2):
        with pytest.raises(LogUnavailable):
            waiting.retry(refuse)
        assert waiting.retry(lambda: "done") == "done"
    assert [line.split()[3].strip(":") for line in said] == ["away", "back"] * 2


def test_a_lost_connection_is_no_outage() -> None:
    said: list[str] = []
    report = OutageReport(said.append)
    report.away(psycopg.OperationalError("lost"), 0.1)
    report.back()
    assert said == []
