"""Commands whose end only the shell's parser knows, which is a program of its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.dialects.shipped.command.extraction.extractor import extract

PARSED = {
    "a paragraph behind": ("ls -la\n\nls lists files", "ls -la", ["explanation"]),
    "a list behind": ("ls -la\n- `-l` for details\n- `-a` for all", "ls -la", ["explanation"]),
    "a shift": ("echo $((1 << x))\n\nThis shifts one bit.", "echo $((1 << x))", ["explanation"]),
    "sentences around": (
        "You can use this command:\nls -la\nThis lists all files.", "ls -la",
        ["explanation", "explanation"],
    ),
    "here-document": (
        "cat <<EOF\nHello there my friend\n\nbye\nEOF\nThis prints three lines.",
        "cat <<EOF\nHello there my friend\n\nbye\nEOF", ["explanation"],
    ),
    "here-string": ("wc -w <<< word\n\nThis counts the words.", "wc -w <<< word", ["explanation"]),
    "Chinese around": (
        "您可以使用以下命令：\n\nls -la\n\n这将列出所有文件。", "ls -la",
        ["explanation", "explanation"],
    ),
    "Russian in the command": (
        "echo 'первая\n\nвторая строка' > ж", "echo 'первая\n\nвторая строка' > ж", [],
    ),
    "sentences at the edges of a fence": (
        "```\nHere is the command:\nls\n\nThis lists all files.\n```", "ls",
        ["fence", "explanation", "explanation"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("reply", "command", "removed"), PARSED.values(), ids=PARSED)
def test_what_surrounds_a_command_is_taken_off_and_told(
    reply: str, command: str, removed: list[str]
) -> None:
    found = extract(reply)
    assert found.command == command
    assert [each.kind for each in found.removed] == removed


@pytest.mark.parametrize("reply", [reply for reply, _, _ in PARSED.values()], ids=list(PARSED))
def test_strict_extraction_takes_off_nothing(reply: str) -> None:
    assert extract(reply, "strict").command == reply
    assert extract(reply, "strict").removed == ()


@given(st.text())
def test_any_text_gives_a_command_that_stands_in_it(reply: str) -> None:
    found = extract(reply)
    words = found.command.split()
    assert all(word in reply for word in words)
    assert extract(reply) == found


@given(st.lists(st.sampled_from(["`", "```", "\n", "$ ", "ls -la", "The file is here", "<<EOF"])))
def test_any_mixture_of_marks_is_decided(parts: list[str]) -> None:
    extract("".join(parts))
