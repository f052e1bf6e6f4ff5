"""Our own rules for POSIX violations that neither program reports.

Sections are those of POSIX.1-2017, XCU chapter 2 ("Shell Command Language") and 4
("Utilities"). Only the language and the shell's own utilities count: `ls --all` is an
option of a program, not of the shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from failproof_es.shell_analysis.parse.shell import Node
from failproof_es.shell_analysis.parse.syntax import calls_among, literal, walk

Edition = Literal["2017", "2024"]

_UNSPECIFIED = """
    alloc autoload bind bindkey builtin bye caller cap chdir clone comparguments compcall
    compctl compdescribe compfiles compgen compgroups complete compquote comptags comptry
    compvalues declare dirs disable disown dosh echotc echoti help history hist let local
    login logout map mapfile popd print pushd readarray repeat savehistory source shopt stop
    suspend typeset whence
"""
UNSPECIFIED_COMMANDS = frozenset(_UNSPECIFIED.split())
"""Names whose effect § 2.9.1 ("Command Search and Execution") leaves unspecified."""

_OPTIONS = {
    "alias": "", "unalias": "a", "command": "pvV", "pwd": "LP", "fc": "elnrs", "kill": "ls",
    "bg": "", "fg": "", "eval": "", "times": "", "shift": "", ".": "", "break": "", "continue": "",
    "getopts": "",
}  # fmt: skip
"""The options of the shell's own utilities (§ 2.14, § 4) that shellcheck does not check."""
_FILE_COMPARISONS = {"-nt", "-ot", "-ef"}
_TILDE = re.compile(r"~[+-]?\d+(/|$)|~[+-](/|$)")
_MOVED_DESCRIPTOR = re.compile(r"\d+-")
_TIME_FORMAT = re.compile(r"%-?\d*\(")
_NEGATIVE = re.compile(r"-\d+")
_COMPOUND = frozenset({"Block", "Subshell", "IfClause", "WhileClause", "ForClause", "CaseClause"})


def departures(tree: Node, edition: Edition) -> Iterator[str]:
    """Every violation of an edition of POSIX that these rules find, as `RULE: words`."""
    nodes = list(walk(tree))
    for node in nodes:
        yield from _node_violations(node)
    for words in calls_among(nodes):
        yield from _call_violations(words, edition)


def _node_violations(node: Node) -> Iterator[str]:
    match node.get("Type"):
        case "FuncDecl" if _command_type(node.get("Body")) not in _COMPOUND:
            yield "FUNCTION_BODY: a function's body is a compound command (§ 2.9.5)"
        case "BinaryArithm" if node.get("Op") == ",":
            yield "ARITHMETIC_COMMA: the comma is no operator of shell arithmetic (§ 1.1.2.1)"
        case "TimeClause" if _command_type(node.get("Stmt")) != "CallExpr":
            yield "TIME_KEYWORD: `time` of anything but a simple command is unspecified"
    if node.get("Index") is not None and "Name" in node:
        yield "ARRAY: there are no arrays"
    if node.get("Op") in (">&", "<&") and "Word" in node:
        target = literal(node["Word"])
        if target is not None and _MOVED_DESCRIPTOR.fullmatch(target):
            yield "DESCRIPTOR_MOVE: a descriptor can be copied or closed, not moved (§ 2.7)"
    first = (node.get("Parts") or [{}])[0]
    if first.get("Type") == "Lit" and _TILDE.match(first["Value"]):
        yield "TILDE: only `~` and `~name` are expanded (§ 2.6.1)"


def _command_type(statement: Node | None) -> str | None:
    kind = ((statement or {}).get("Cmd") or {}).get("Type")
    return None if kind is None else str(kind)


def _call_violations(words: list[str | None], edition: Edition) -> Iterator[str]:
    name, arguments = words[0], words[1:]
    if name in UNSPECIFIED_COMMANDS:
        yield f"UNSPECIFIED_COMMAND: what `{name}` does is unspecified (§ 2.9.1)"
    if name in _OPTIONS and (unknown := _unknown_option(name, arguments)):
        yield f"BUILTIN_OPTION: {name} has no option {unknown}"
    match name:
        case "[" | "test":
            yield from _test_violations(arguments, edition)
        case "printf" if arguments and _TIME_FORMAT.search(arguments[0] or ""):
            yield "PRINTF_TIME: printf has no conversion %(...)T"
        case "unset" if any(word and "[" in word for word in arguments):
            yield "ARRAY: there are no arrays"
        case "exit" | "return" if arguments and _NEGATIVE.fullmatch(arguments[0] or ""):
            yield f"STATUS: {name} takes a number from 0 to 255 (§ 2.14)"


def _unknown_option(name: str, arguments: list[str | None]) -> str | None:
    """The first word with an option that the utility `name` lacks; `None` if there is none.

    Options end at the first operand (XBD § 12.2). `kill -9` and `kill -KILL` are signals, `fc -3`
    is a number of lines.
    """
    for word in arguments:
        if word is None or word in ("-", "--") or not word.startswith("-"):
            return None
        letters = word[1:]
        if letters.isdigit() or (name == "kill" and letters.isalpha() and letters.isupper() and
                               len(letters) > 1):  # fmt: skip
            continue
        for letter in letters:
            if letter not in _OPTIONS[name]:
                return word
            if (name, letter) in (("fc", "e"), ("kill", "s")):
                break  # the rest is the option's value
        if name in ("fc", "kill"):
            return None
    return None


def _test_violations(arguments: list[str | None], edition: Edition) -> Iterator[str]:
    operators = {word for word in arguments[1:-1] if word is not None}
    if edition == "2017":
        for operator in sorted(operators & _FILE_COMPARISONS):
            yield f"TEST_FILES: test has no {operator} before the edition of 2024"
    elif len(arguments) > 3:
        for operator in sorted(operators & {"-a", "-o"}):
            yield f"TEST_JOIN: the edition of 2024 removed test's {operator}"
