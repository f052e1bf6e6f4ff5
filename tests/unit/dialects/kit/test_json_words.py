"""What is wrong with a line of JSON is said in words of its own, with column and line."""

from __future__ import annotations

import pytest

from failproof_es.dialects.kit.json_lines import Defect, parse_object


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ('{"a": 1,}', 9, "a comma stands before the closing }"),
        ('{"a": [1 , ]}', 12, "a comma stands before the closing ]"),
        ("{a: 1}", 2, "a name in double quotes is missing"),
        ("{'a': 1}", 2, "a name in double quotes is missing"),
        ('{"a" 1}', 6, "a colon is missing after the name"),
        ('{"a": 1 "b": 2}', 9, "a comma or a closing bracket is missing"),
        ('{"a": x}', 7, "a value is missing (a text needs double quotes)"),
        ('{"a": "x}', 7, "a text has no closing quote"),
        ('{"a": "x\ty"}', 9, "a text holds a line break, a tab or another control character"),
        ('{"a": "\\x"}', 8, "a backslash begins no escape"),
        ('{"a": "\\u12"}', 9, "\\u needs four hexadecimal digits"),
        ('{"a": 1} {"b": 2}', 10, "something follows the end of the object"),
    ],
)
def test_a_defect_of_json_is_said_in_words(text: str, column: int, words: str) -> None:
    with pytest.raises(Defect) as raised:
        parse_object(text.encode())
    # another version of Python may point at a comma instead of what follows it
    start = f"bad JSON at column {column}: "
    assert raised.value.message.startswith(start) or "comma stands" in words
    assert words in raised.value.message and "Expecting" not in raised.value.message
