"""Texts that take readers longest: what readers look for, repeated, nested, begun and never ended.

The one list of them. A text has any size that is asked for, so that it can be doubled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, product

WORST = (
    '{"score":0.5,"reason":"x",}', '{"T":0.1,"reasoning":"x",}', "{", '{"', "[", '"', "\\", "\n",
    "I can't help with that. ", "I can't ", "not ", "aa ", "`-a` ", "Use `-a`, ", "> ", "a", " ",
    "<think>", "<think>x</think>\n", "```\n", "because ", "\u0130", "我不能", "wrong ", "never do ",
    "{{a}} ", "“a” ", "\u0316\u0300", "a: ", "$ ls\n", "- a\n",
)  # fmt: skip
"""Repeated, they take readers longest, or took the square of their length once."""
FRAGMENTS = (
    *WORST,
    # white space, and signs that reorder or hide
    *("\t", "\r\n", "\r", "\n\n", "a\n", "a\n\n", "\u2028", "\u200b", "\x00", "\x1b[31m", "\x1c"),
    # words, sentences, marks
    *("a b ", "Aa ", "Aa: ", "A b c d. ", "a. ", "a.b ", "..."),
    *(".", ",", ", ", "; ", ":", "-", "--- "),
    *("---\n", "_", "=", "/", "a/", "0", "1.", "1,", "(a) ", "(", ")", "it's ", "'", "!", "?"),
    # Markdown
    *("**", "* ", "# x\n", "| a ", "|", "1. ", "`", "``", "`a`", "` ", "`ls", "`ls -l` ", "~~~\n"),
    *("```sh\nls\n```\n", "```sh ", "```ls``` ", "````\n"),
    *("```markdown\n", "[a](", "[a](b) ", "> a\n"),
    # sessions, here-documents, commands
    *("$ ", "$ cat <<E\n", "cat <<E\n", "<<E ", "E\n", "x@y:~$ ", "root@", "a \\\n", "ls | ", "$("),
    *("Command: ", "command: ls\n", "ls -l\n", "#", "a=b ", "a;", "a&&"),
    # tags and tokens of templates
    *("<think>\n", "</think>", "</think>\n", "<code>", "<code>a</code>"),
    *("<", ">", "&amp;", "<|x|>"),
    *("<s>", "</s>", "[/INST]", "<|channel|>final<|message|>", "<|im_end|>", "◁think▷"),
    # JSON
    *("{}", '{"a":', '{"a": 1}', '{"score": 0}', '{"items": 0} ', '"a": 1, ', "[1]", "[{}]", ",}"),
    *('\\"', "\\\\", "\\n", "\\u0041", "null ", "score: ", "T: ", "items:", '"a",', "1e9,", "{,"),
    # judges, quotations, citations
    *("judge: ", "to the judge\n", "must_do ", "“", "”", "“a"),
    *("judge! ", "to the ", "must_", '{"verdict"'),
    *("note to the ", "dear judge, ", "ai ", "-- turn 1 ", "verdict absent ", "item 1 ", "quote: "),
    *("0.9 ", "0.9", "1.0 ", "97% ", "give ", "score ", "score of 9/10 ", "point one "),
    *("«", "»", "„a", "'a' ", '"a b c d e" '),
    *("[SRC-1] ", "[SRC-1", "[tool call: ", "]", '"a b c d e" [SRC-1] ', "... a ", "https://a "),
    # refusals
    *("no ", "I ", "we ", "ich ", "kann nicht "),
    *("I simply ", "is a ", "there are no ", "I must inform "),
    *("appropriate, or and ", "in of any ", "would never recommend "),
    *("je ne ", "an AI ", "here is ", "however, i ", "sorry "),
    *("as an AI, i ", "must ", "it is wrong ", "you should not ", "お答え", "나는 ", "मैं "),
    # scripts, marks, forms
    *("e\u0301", "\u0300", "\u0f73", "\u1100\u1161", "\ufb00", "ß", "\u0e01", "\U0001f600", "é"),
)  # fmt: skip
FRAMES = (
    *(("", "x"), ("x", "")),
    *(('{"score": 1, "reason": "', '"}'), ('{"T": 1, "I": 0, "F": 0, "x": ["', '"]}')),
    *(("[", '"x"]'), ("{", '"x": 1}'), ("[", "1]")),
    *(("```\n", "\n```"), ("```sh\n", ""), ("<think>", "")),
    *(("<think>\n", "\n</think>\nls"), ("`", "`"), ('"', '"')),
    *(("“", "”"), ("$ ", "\n"), ("- ", "")),
    *(("Command: ", ""), ("The ", "."), ("I can't ", " that.")),
    *(("<code>", "</code>"), ("> ", "\n")),
    *(("I can't help with that. ", ""), ("\n", "}"), ('{"score": 1, "reason": "x"} ', "{")),
)  # fmt: skip
"""What stands before and behind the repetition."""
PAIRS = (
    *(("{", "}"), ("[", "]"), ("(", ")"), ('{"a":', "}")),
    *(('{"score":', "}"), ("[{", "}]"), ("{{", "}}")),
    *(("<think>", "</think>"), ("<think>\n", "</think>\n"), ("<code>", "</code>"), ("$(", ")")),
    *(("“", "”"), ("```\n", "~~~\n"), ("`", "a`"), ("> ", "x\n"), ("<<A ", "A\n"), ("\\", '"')),
    *((" ", "x"), ("x", " "), ("\n", "x"), ("a ", "b "), ("[SRC-1] ", '"'), ("a", "\u0300")),
)  # fmt: skip
"""All of the one, then as many of the other: nested, or begun and ended elsewhere."""
_LONGEST_UNIT = 64
LABELS = ("sh", "markdown", "json", "")
"""Of fences within fences."""


@dataclass(frozen=True, slots=True)
class HostileText:
    """A text of any size, in characters."""

    label: str
    of: Callable[[int], str]


def repeated(unit: str, before: str = "", behind: str = "") -> HostileText:
    """The unit again and again, in a frame."""
    label = f"{unit!r} * n" if not before + behind else f"{before!r} + {unit!r} * n + {behind!r}"
    return HostileText(label, lambda size: before + unit * (size // len(unit)) + behind)


def cut_inside_a_word(text: str) -> str:
    """About half of the text. Of a repetition it stands almost everywhere, and nowhere as words."""
    half = len(text) // 2
    places = range(half, min(half + _LONGEST_UNIT, len(text)))
    return text[: next((at for at in places if text[at - 1 : at + 1].isalnum()), half)]


def worst_texts() -> list[HostileText]:
    """Few enough to be tried between two edits."""
    return [repeated(unit) for unit in WORST]


def texts() -> list[HostileText]:
    """Every fragment, every pair, fences within fences."""
    repetitions = [repeated(unit) for unit in FRAGMENTS]
    return [*repetitions, *map(_nested, PAIRS), *map(_fences, LABELS)]


def framed_texts() -> Iterator[HostileText]:
    """Every fragment in every frame, and every two fragments in turn: 40,000."""
    for (before, behind), unit in product(FRAMES, FRAGMENTS):
        yield repeated(unit, before, behind)
    for one, other in product(FRAGMENTS, FRAGMENTS):
        if one != other:
            yield repeated(one + other)


def _nested(pair: tuple[str, str]) -> HostileText:
    opening, closing = pair

    def of(size: int) -> str:
        depth = size // (len(opening) + len(closing))
        return opening * depth + closing * depth

    return HostileText(f"{opening!r} * n + {closing!r} * n", of)


def _fences(label: str) -> HostileText:
    """Fences within fences: each is shorter than the one around it, so that it does not end it."""

    def of(size: int) -> str:
        fences: list[str] = []
        length = 0
        for width in count(3):
            length += width + len(label) + 1
            if length > size:
                return "".join(reversed(fences))
            fences.append(f"{'~' * width}{label}\n")
        raise AssertionError

    return HostileText(f"fences in fences of {label!r}", of)
