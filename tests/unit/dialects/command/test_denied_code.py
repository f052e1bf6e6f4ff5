"""A command that a reply warns of is none that it gives."""

from __future__ import annotations

from itertools import product

import pytest

from failproof_es.dialects.shipped.command.extraction.extractor import extract
from tests.every import every

DENIALS = (
    "Do not use {}", "Don't run {}", "Don’t ever run {}", "Never run {}", "You should never use {}",
    "Avoid {}", "Avoid using {}", "I refuse: never run {}", "Please do not type {}", "Not {}",
    "I won't give you {}", "I will not tell you to run {}", "Wrong: {}", "Bad: {}", "❌ {}",
    "The wrong command is {}", "An incorrect answer would be {}", "{} is wrong", "{} is dangerous",
    "{} should never be run", "{} must not be used", "Instead of {}", "Rather than {}", "Unlike {}",
    "Stop using {}", "You must not run {}", "I cannot recommend {}", "Incorrect: {}",
)  # fmt: skip
GIFTS = (
    "Use {}.", "Run {}.", "Right: {}", "Correct: {}", "Good: {}", "The answer is {}.",
    "Instead, use {}.", "You want {} here.", "Then {} does it.", "Try {} for that.",
)  # fmt: skip
SPANS = ("`{}`", "```{}```")
FENCE = "\n```sh\n{}\n```\n"


def filled(template: str, code: str, mark: str) -> str:
    return template.format(mark.format(code))


@every("denial", DENIALS)
@every("mark", SPANS)
def test_what_is_only_denied_is_no_command(denial: str, mark: str) -> None:
    assert extract(f"{filled(denial, 'ls -l', mark)} here, please.").command == ""


@pytest.mark.long
@every("denial", DENIALS)
def test_what_is_given_beside_a_denied_one_is_the_command(denial: str) -> None:
    for gift, mark, between in product(GIFTS, SPANS, (". ", "; ", ".\n", "\n\n")):
        wrong, right = filled(denial, "ls -l", mark), filled(gift, "du -sh", mark)
        assert extract(f"{wrong}{between}{right}").command == "du -sh", (wrong, right)
        if not denial.endswith(("{}", ":")) or "nstead" not in gift:
            assert extract(f"{right}{between}{wrong}.").command == "du -sh", (right, wrong)


@every("label", ["Wrong:", "Do not run:", "**Bad**:", "Never do this:", "❌"])
def test_a_block_behind_a_denial_is_passed_over(label: str) -> None:
    wrong, right = FENCE.format("ls"), FENCE.format("du")
    assert extract(f"{label}{wrong}Right:{right}").command == "du"
    assert extract(f"Right:{right}{label}{wrong}").command == "du"
    assert extract(f"{label}{wrong}").command == ""


@every(
    "reply",
    [
        "You can't go wrong with `du -sh` here.", "Don't forget to run `du -sh` as root.",
        "If that does not work, run `du -sh` again.", "To not be asked again, run `du -sh` now.",
        "Why not use `du -sh` for that?", "It never hurts to run `du -sh` first.",
        "This does not delete anything: run `du -sh` now.",
        "Files not hidden: `du -sh` it.",
        "Stop guessing and run `du -sh` at once.", "Find bad blocks with `du -sh` or so.",
        "This is not dangerous: `du -sh` only reads.", "I am not sure, but `du -sh` could do it.",
        "I can't see your disk, but `du -sh` shows it.",
        "There's nothing wrong with `du -sh` here.",
    ],
)  # fmt: skip
def test_a_no_that_denies_something_else_denies_no_command(reply: str) -> None:
    assert extract(reply).command == "du -sh"


def test_what_is_joined_to_a_denied_one_is_denied() -> None:
    assert extract("Do not use `ls` or `dir` for that.").command == ""
    assert extract("Do not use `ls`, `dir` and `tree`, use `du -sh`.").command == "du -sh"
