"""Recognises prose: lines for people that are not commands."""

from __future__ import annotations

import re

_SPAN = re.compile(r"(?<!`)(`+)(?!`)[^\n]+?(?<!`)\1(?!`)")
_FOREIGN = "\\u0080-\\U0010ffff"
"""Letters, vowel signs and punctuation of any other script than ASCII."""
_CAPITALISED = re.compile(rf"[A-Z{_FOREIGN}][a-z{_FOREIGN}]*(?:['’][a-z{_FOREIGN}]+)?[,.:;!?]?")
_WORD = re.compile(rf"[A-Za-z{_FOREIGN}]+(?:['’-][A-Za-z{_FOREIGN}]+)*[,.:;!?]*|`[^`]*`[,.:;!?]*")
_NOT_ASCII = re.compile(r"(?=.*[^\W\d_A-Za-z])(?:[^A-Za-z]*|.*[：。！？、，])")
"""A line in another script, or one that ends in its punctuation."""
_OPTION = re.compile(r"--?[A-Za-z0-9]")
_OPERATOR = re.compile(r"[|&;<>]+|\d?>+\S+|.*[;|&]$")
_LIST_ITEM = re.compile(r"(?:[-*+•]|\d+[.)])\s+(.*)")
_LEAD = re.compile(
    r"\s*(?:(?:[-*+•>]|\d+[.)]|[A-Za-z][.)])\s+)+|\s*(?:[^\s#]+[$%#>»❯➜]|[$%»❯➜])\s+"
    r"|\s*[*_]*[A-Za-z][A-Za-z]*(?:,? [A-Za-z0-9]+){0,5}[*_]*:[*_]*\s+"
)
TAGS = "code|pre|p|kbd|samp|tt|command|cmd|answer"
"""Tags that a model may put around a command."""
COMMAND_NAMES = "command|cmd|answer|bash|shell|terminal|solution"
"""Names of an answer's command: a label before it, or a key in JSON."""
_TAG = re.compile(rf"</?(?:{TAGS}|br)\s*/?>", re.IGNORECASE)
_REMARK = re.compile(rf"[A-Z{_FOREIGN}][\w'’,-]*(?: [\w'’,-]+)*[:!?]")
_PLAIN = re.compile(rf"[A-Z{_FOREIGN}][\w'’,-]*(?: [\w'’,-]+)*[.:!?]?")
_BOLD = re.compile(r"\s*\*\*[^*]+\*\*:?\s*")
_TITLED = re.compile(rf"(?!(?:{COMMAND_NAMES}):)[A-Z][a-z]+: +\S.*", re.IGNORECASE)
_SIGN = re.compile(r"\s*[❌✗✘🚫✅✓✔]")
"""Signs that mark a line as right or wrong."""
_TABLE_ROW = re.compile(r"\s*\|.*\|\s*")
_HEADING = re.compile(r" {0,3}#{2,6} .*")
_FEWEST_WORDS = 3
_PLAIN_SHARE = 0.6


def is_sentence(line: str) -> bool:
    """Whether the line is a sentence, or a list item with inline code.

    A sentence has three words or more, most of them plain, begins with a capital, and has no
    option.
    """
    item = _LIST_ITEM.fullmatch(line.strip())
    words = _words(item[1] if item else line)
    if item and "`code`" in " ".join(words):
        return True
    if len(words) < _FEWEST_WORDS or not _CAPITALISED.fullmatch(words[0]):
        return False
    if any(_OPTION.match(word) for word in words):
        return False
    return sum(bool(_WORD.fullmatch(word)) for word in words) >= _PLAIN_SHARE * len(words)


def is_prose(line: str) -> bool:
    """Whether a line outside of a fence is no command but prose.

    Prose is a sentence (also one that begins with inline code, or a single word before inline
    code), a remark (`Sure!`), a title (`Note: slow`), a heading, a row of a table, or a line in
    another script. For choosing
    the command only: some of these could be run, so safety must not depend on it.
    """
    sign = _SIGN.match(line)
    if sign is not None and _SPAN.search(line):
        return True
    if is_sentence(line) or _TABLE_ROW.fullmatch(line) or _HEADING.fullmatch(line):
        return True
    if _NOT_ASCII.fullmatch(_SPAN.sub("", line).strip()):
        return True
    words = _words(line)
    text = " ".join(words)
    if len(words) == _FEWEST_WORDS - 1 and words[1].startswith("`code`"):
        return _CAPITALISED.fullmatch(words[0]) is not None
    if words[:1] == ["`code`"]:
        return len(words) >= _FEWEST_WORDS and is_sentence(f"It {text}")
    if _LIST_ITEM.fullmatch(line.strip()) or _BOLD.fullmatch(line):
        text = text.partition(" ")[2] if _LIST_ITEM.fullmatch(line.strip()) else text
        return bool(_PLAIN.fullmatch(text) or _REMARK.fullmatch(text))
    has_option = any(_OPTION.match(word) for word in words)
    title = _TITLED.fullmatch(text)
    return bool(_REMARK.fullmatch(text) or (title and text[0].isupper() and not has_option))


def could_run(line: str) -> bool:
    """Whether a shell could run the line: it is no sentence, or has a shell operator in it."""
    words = _words(line)
    return not is_sentence(line) or any(_OPERATOR.fullmatch(word) for word in words)


def without_lead(line: str) -> str:
    """The line without list marks, prompt, label, tags and typographic quotes."""
    line = _TAG.sub("\n", line)
    start = 0
    while lead := _LEAD.match(line, start):
        start = lead.end()
    return line[start:].strip("“”‘’«»")


def _words(text: str) -> list[str]:
    return _SPAN.sub("`code`", text).replace("**", "").split()
