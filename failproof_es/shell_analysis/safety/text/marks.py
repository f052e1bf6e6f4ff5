"""Marks for the unknown parts of a text: values that only the shell can fill in.

An expanded word is a string. A mark replaces each unknown part: a Unicode noncharacter, which
no command needs, so that marks survive when texts are joined, split and parsed again. Active
glob characters are marks, too; a quoted `*` is an ordinary character.
"""

from __future__ import annotations

ANY = "\ufdd0"
"""Some text, not empty, that is unknown before a run."""
REMOTE = "\ufdd1"
"""Text from the network."""
DECODED = "\ufdd2"
"""Output of a decoder: base64, hex, decompression, decryption."""
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
    HOME: "~", STAR: "*", QUESTION: "?", BRACKET: "[", OPEN: "{", COMMA: ",", CLOSE: "}",
    SPLIT: " ",
}  # fmt: skip
_TO_PLAIN = str.maketrans(_PLAIN)
_TO_SHOWN = str.maketrans(_PLAIN | dict.fromkeys(UNKNOWN, "…"))
_ALL = str.maketrans(dict.fromkeys([*UNKNOWN, *_PLAIN], "\ufffd"))


def clean(command: str) -> str:
    """A text from outside; characters in it that would be read as marks become U+FFFD."""
    return command.translate(_ALL)


def plain(text: str) -> str:
    """The text with ordinary characters for globs, braces and home; unknown parts stay marks."""
    return text.translate(_TO_PLAIN)


def abbreviate(text: str, longest: int = 120) -> str:
    """The text for people: unknown parts as an ellipsis, at most `longest` characters."""
    readable = text.translate(_TO_SHOWN)
    return readable if len(readable) <= longest else readable[: longest - 1] + "…"


def is_known(text: str) -> bool:
    """Whether no part of the text is unknown before a run, apart from globs."""
    return UNKNOWN.isdisjoint(text)


def taints(text: str) -> str:
    """The marks in the text that tell the origin of an unknown part, each once; empty if it has
    none."""
    return "".join(mark for mark in TAINTS if mark in text)
