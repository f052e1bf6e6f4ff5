"""Whatever a model wraps its command in, the same command comes out of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product

import pytest

from failproof_es.dialects.shipped.command.extraction.extractor import extract
from failproof_es.dialects.shipped.command.reply_safety import safe_reply
from tests.every import every

FENCE = "```"
COMMANDS = (
    "ls -la",
    "find . -name '*.c' -exec grep -l \"a b\" {} \\;",
    "sed 's/<b>/**x**/' a.html > b.html",
    "awk -F: '{print $1}' /etc/passwd | sort -u",
)
LOOPS = (
    'for f in *.c; do\n\n  echo "$f"\n\ndone',
    "awk '{\n\n  print $1\n\n}' a.txt",
    'git commit -m "Mend the parser\n\nIt reads one line too many here."',
)
ON_ONE_LINE: dict[str, Callable[[str], str]] = {
    "tag": lambda command: f"<code>{command}</code>",
    "tags in each other": lambda command: f"<pre><code>\n{command}\n</code></pre>",
    "tag of a shell": lambda command: f"<bash>{command}</bash>",
    "tokens": lambda command: f"<|assistant|>{command}<|im_end|>",
    "end of the text": lambda command: f"{command}</s>",
    "bold": lambda command: f"**{command}**" if "*" not in command else command,
    "typographic quotes": lambda command: f"“{command}”",
    "item": lambda command: f"1. {command}",
    "bullet": lambda command: f"- {command}",
    "quotation": lambda command: f"> {command}",
    "a label of some words": lambda command: f"Here's the command: {command}",
    "final answer": lambda command: f"Final answer: {command}",
    "a label left of a fence": lambda command: f"bash\n{command}",
    "a title before": lambda command: f"Note: slow.\n{command}",
    "a heading": lambda command: f"### Command\n\n{command}\n\n### Explanation\n\nIt lists.",
    "a remark": lambda command: f"Sure:\n\n{command}\n\nDone!",
    "list behind": lambda command: f"{command}\n- it lists files",
    "the end of a fence": lambda command: f"{command}\n{FENCE}",
    "a fence that closes on the line": lambda command: f"{FENCE}bash\n{command}{FENCE}",
}
ON_SOME_LINES: dict[str, Callable[[str], str]] = {
    "a fence behind a sentence": lambda command: f"Run this: {FENCE}bash\n{command}\n{FENCE} Done.",
    "a bare fence behind a colon": lambda command: f"Run this: {FENCE}\n{command}\n{FENCE}",
    "JSON": lambda command: json.dumps({"command": command, "explanation": "It lists."}),
    "JSON in a fence": lambda command: f"{FENCE}json\n{json.dumps({'cmd': command})}\n{FENCE}",
    "a tool's call": lambda command: (
        "<tool_call>\n"
        + json.dumps({"name": "run", "arguments": {"shell_command": command}})
        + "\n</tool_call>"
    ),
    "bare": lambda command: command,
    "sentences around": lambda command: f"Here you go.\n\n{command}\n\nIt lists all of the files.",
}
WRAPPED = [
    pytest.param(wrap(command), command, id=f"{name}: {command[:20]!r}")
    for wraps, commands in ((ON_ONE_LINE, COMMANDS), (ON_SOME_LINES, COMMANDS + LOOPS))
    for (name, wrap), command in product(wraps.items(), commands)
]


@every(("reply", "command"), WRAPPED)
def test_what_a_command_is_wrapped_in_is_taken_off(reply: str, command: str) -> None:
    assert extract(reply).command == command


@every(
    ("reply", "command"),
    [
        ("Use the `ls` command with the `-a` flag: `ls -a`", "ls -a"),
        ("Add `-l` to it: `ls -l`.", "ls -l"),
        ("Run `pwd` first and `ls -l` after it.", "pwd"),
        ("`ls -la` lists all files, also hidden ones.", "ls -la"),
        ("| Command | Use |\n|---|---|\n| `ls -l` | list |", "ls -l"),
        ("1. Open a terminal.\n2. Type `ls -la` and press Enter.", "ls -la"),
    ],
)
def test_of_inline_code_the_first_that_is_a_command_counts(reply: str, command: str) -> None:
    assert extract(reply).command == command


@every("command", ["> out.txt", "*", "[1]", "- x", "{ ls; }", "'a' 'b'", "`date`x"])
def test_a_command_that_looks_wrapped_keeps_what_is_its_own(command: str) -> None:
    kept = {"- x": "x"}.get(command, command)
    assert extract(command).command == kept


@every("wrap", [*ON_ONE_LINE.values(), *ON_SOME_LINES.values()])
def test_a_wrapped_command_is_judged(wrap: Callable[[str], str]) -> None:
    assert not safe_reply(extract(wrap("rm -rf /"))).safe


def test_what_a_quote_takes_up_behind_a_blank_line_is_judged_all_the_same() -> None:
    found = extract("echo 'x\n\nDon't worry, then run `rm -rf ~`.")
    assert not safe_reply(found).safe
