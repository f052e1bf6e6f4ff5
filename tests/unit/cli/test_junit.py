"""What JUnit XML says of a failure: bounded, marked where it is cut, and writable as XML."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from failproof_es.cli.junit import LONGEST_TEXT, _outcome

LONG = "long " * 5_000


def test_a_failure_names_what_was_asked_expected_and_got_and_marks_what_is_cut() -> None:
    case = ET.Element("testcase")
    told = {"prompt": LONG, "expected": "^a$", "got": "b\x00\x1b\n]]>"}
    _outcome(case, "failure", "fail", "the reply is not what was expected", told)
    failure = ET.fromstring(ET.tostring(case)).find("failure")
    assert failure is not None
    message, text = failure.get("message", ""), failure.text or ""
    assert message.startswith("the reply is not what was expected; prompt: 'long long ")
    assert "expected: '^a$'; got: 'b" in message
    assert len(message) < 1_000 and len(text) < 3 * LONGEST_TEXT
    assert message.count("…") == 1 and text.count("…") == 1, "cut, and marked"
    assert "\x00" not in text and "got: b\\x00\\x1b\n]]>" in text
