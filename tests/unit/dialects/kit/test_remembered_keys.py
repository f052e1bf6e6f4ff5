"""The same unknown keys in every case of a file take no time after the first case."""

from __future__ import annotations

from pytest import MonkeyPatch

from failproof_es.dialects.kit import unknown_keys
from failproof_es.problems import Problems


def test_a_key_that_stands_in_every_case_is_compared_once(monkeypatch: MonkeyPatch) -> None:
    compared: list[str] = []

    def compare(key: str, *_: object) -> None:
        compared.append(key)

    monkeypatch.setattr(unknown_keys, "closest_known_key", compare)
    keys = unknown_keys.UnknownKeys(problems := Problems())
    case = {"prompt": "?", "remembered_author": "Ada", "remembered_day": "x" * 100}
    for number in range(100):
        keys.report_all({**case, "note": number} if number % 2 else case, ("prompt", "case_id"))
    assert compared == ["remembered_author", "remembered_day", "note"]
    assert len(problems.warnings) == 3
