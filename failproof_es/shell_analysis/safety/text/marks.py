"""Marks for the unknown parts of a text: values that only the shell can fill in.

An expanded word is a string. Where the value is known only in part, a mark stands for the
rest: a Unicode noncharacter, which no command needs, so that texts can be joined, split and
given to the parser again, and the marks come through. Glob characters that are active are
marks too; a quoted `*` is an ordinary character.
"""

from __future__ import annotations

ANY = "\ufdd0"
"""Some text, not empty, that only a run could tell."""
REMOTE = "\ufdd1"
"""Text that came over the network."""
DECODED = "\ufdd2"
"""Text that came out of a decoder: base64, hex, decompression, decryption."""
SECRET = "\ufdd3"  # noqa: S105  a mark, not a password
"""Text that holds credentials or a person's history."""
PROCESSES = "\ufdd4"
"""The ids of all processes."""
GENERATED = "\ufdd5"
"""Output of a program that writes shell text for `eval`, such as `ssh-agent`."""
HOME = "\ufdd6"
"""The home directory: `~` or `$HOME`."""
STAR = "\ufdd7"
QUESTION = "\ufdd8"
BRACKET = "\ufdd9"
OPEN = "\ufdda"
COMMA = "\ufddb"
CLOSE = "\ufddc"
SPLIT = "\ufddd"

TAINTS = (REMOTE, DECODED, SECRET, PROCESSES, GENERATED)
UNKNOWN = frozenset((ANY, *TAINTS))
GLOBS = frozenset((STAR, QUESTION, BRACKET))

_PLAIN = {
    HOME: "~",
    STAR: "*",
    QUESTION: "?",
    BRACKET: "[",
    OPEN: "{",
    COMMA: ",",
    CLOSE: "}",
    SPLIT: " ",
}
_TO_PLAIN = str.maketrans(_PLAIN)
_TO_SHOWN = str.maketrans(_PLAIN | dict.fromkeys(UNKNOWN, "…"))
_ALL = str.maketrans(dict.fromkeys([*UNKNOWN, *_PLAIN], "\ufffd"))


def clean(command: str) -> str:
    """Text from outside, in which nothing may look like a mark."""
    return command.translate(_ALL)


def plain(text: str) -> str:
    """The characters again; what is unknown stays marked."""
    return text.translate(_TO_PLAIN)


def abbreviate(text: str, longest: int = 120) -> str:
    """For people: unknown parts as an ellipsis, shortened."""
    readable = text.translate(_TO_SHOWN)
    return readable if len(readable) <= longest else readable[: longest - 1] + "…"


def is_known(text: str) -> bool:
    """Whether nothing in it is left to a run (globs apart)."""
    return UNKNOWN.isdisjoint(text)


def taints(text: str) -> str:
    """The marks that say where unknown parts come from, each once."""
    return "".join(mark for mark in TAINTS if mark in text)
