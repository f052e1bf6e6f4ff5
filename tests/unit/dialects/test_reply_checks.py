"""A reply is JSON or it is not; the words of a check of it are those of the report."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from failproof_es.dialects.reply_checks import ReplyCheck, describe_check, is_always_met, met
from failproof_es.problems import schema_code


@pytest.mark.parametrize(
    ("text", "is_json"),
    [
        ('{"a": [1, 2.5e3, null]}', True),
        (' "text"\n', True),
        ("9" * 5_000, True),
        ("", False),
        ("[1, 2,]", False),
        ("NaN", False),
        ('```json\n{"a": 1}\n```', False),
        ('{"a": 1} and more', False),
        ("[" * 100_000, False),
    ],
)
def test_the_whole_reply_is_json(text: str, is_json: bool) -> None:
    check = ReplyCheck(kind="json")
    assert met(check, text) is is_json
    assert met(ReplyCheck(kind="json", negate=True), text) is not is_json
    assert is_always_met(check) is None
    assert describe_check(check, is_met=is_json) == ("is JSON" if is_json else "is not JSON")


@pytest.mark.parametrize(
    ("check", "code"),
    [
        ({"kind": "json", "values": ["a"]}, "no-effect"),
        ({"kind": "contains"}, "empty-value"),
        ({"kind": "regex", "values": ["{a}("]}, "invalid-pattern"),
        ({"kind": "regex", "values": [7]}, "wrong-type"),
    ],
)
def test_only_json_takes_no_values_and_a_problem_has_the_code_of_its_kind(
    check: dict[str, Any], code: str
) -> None:
    with pytest.raises(ValidationError) as raised:
        ReplyCheck.model_validate(check)
    (details,) = raised.value.errors()
    assert schema_code(details["type"]) == code and "Value error" not in details["msg"]
