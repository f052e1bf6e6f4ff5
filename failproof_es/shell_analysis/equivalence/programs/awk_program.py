"""`awk`: options, then a program in which blanks between tokens don't matter.

awk stops reading options at the first operand, the program: later words are never options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from failproof_es.shell_analysis.equivalence.arguments import UnreadableArguments
from failproof_es.shell_analysis.equivalence.statements import Statements
from failproof_es.shell_analysis.equivalence.words import Form, Word, literal

_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"""
    r"""|(?P<call>[A-Za-z_]\w*\()|(?P<name>[A-Za-z_]\w*)"""
    r"""|(?P<operator>\*\*=|\*\*|\+\+|--|\+=|-=|\*=|/=|%=|\^=|==|<=|>=|!=|&&|\|\||>>|\|&|!~|.)""",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\]?[^\]\n]*\])+/")
_BEFORE_A_REGEX = {*"({},;!&|~<>=?:+-*%^\n", "&&", "||", "!~", "==", "!="}


def normal_awk(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of an `awk` command: separator, variables, program and files.

    Raises `UnreadableArguments` for an unknown option, a missing value or a missing program.
    """
    options: list[tuple[str, Word | None]] = []
    pending = list(words)
    while pending and pending[0].start.startswith("-") and pending[0].text != "-":
        options.append(_take_option(pending))
        if options[-1][0] == "--":
            break
    files_follow = any(option == "-f" for option, _ in options)
    if not files_follow and not pending:
        raise UnreadableArguments("no program")
    source: Form = None if files_follow else _program_form(pending.pop(0))
    return ("awk", name, *_split_options(options), source, tuple(pending))


def _split_options(options: Sequence[tuple[str, Word | None]]) -> tuple[Form, Form]:
    """The last separator, and the other options in order.

    The separator stays among the others if one of them may assign `FS`: then the last one counts.
    """
    assigned = [value.start for option, value in options if option == "-v" and value is not None]
    if any(start.startswith("FS=") or "FS=".startswith(start) for start in assigned):
        return None, tuple(options)
    separators = [value for option, value in options if option == "-F"]
    return next(reversed(separators), None), tuple(o for o in options if o[0] != "-F")


def _take_option(pending: list[Word]) -> tuple[str, Word | None]:
    word = pending.pop(0)
    if word.text == "--":
        return "--", None
    letter = word.start[:2]
    if letter not in ("-F", "-v", "-f"):
        raise UnreadableArguments(f"option {word.start}")
    value = word.without_start(2)
    if value is None:
        if not pending:
            raise UnreadableArguments(f"option {letter} without a value")
        value = pending.pop(0)
    return letter, value


def _program_form(word: Word) -> Form:
    if word.text is None:
        return word
    tokens = _tokens(word.text)
    return ("tokens", *_drop_redundant(tokens)) if tokens is not None else literal(word.text)


def _tokens(text: str) -> list[str] | None:
    """The program's tokens; `None` if it has a comment or a slash that may be a division."""
    tokens: list[str] = []
    at = 0
    while at < len(text):
        if blank := re.compile(r"[ \t]+|\\\n").match(text, at):
            at = blank.end()
            continue
        before = tokens[-1] if tokens else "\n"
        if text[at] == "#":
            return None
        if text[at] == "/" and before not in _BEFORE_A_REGEX:
            return None
        token = (_REGEX if text[at] == "/" else _TOKEN).match(text, at)
        if token is None:
            return None
        tokens.append(token[0])
        at = token.end()
    return tokens


def _drop_redundant(tokens: list[str]) -> list[str]:
    """The tokens without redundant newlines and semicolons."""
    tidy_tokens: list[str] = []
    for lexeme in tokens:
        before = tidy_tokens[-1] if tidy_tokens else "\n"
        if lexeme == "\n" and before in ("\n", "{", ";", "&&", "||", ","):
            continue
        while lexeme == "}" and _is_redundant_end(tidy_tokens):
            tidy_tokens.pop()
        tidy_tokens.append(lexeme)
    while tidy_tokens and tidy_tokens[-1] == "\n":
        tidy_tokens.pop()
    return tidy_tokens


def _is_redundant_end(tokens: list[str]) -> bool:
    """Whether the last token, a newline or semicolon, is redundant before a closing brace."""
    if len(tokens) < 2:
        return False
    if tokens[-1] == "\n":
        return tokens[-2] not in (")", "else", "do")
    return tokens[-1] == ";" and tokens[-2] not in (")", "else", "do", ";", "{")
