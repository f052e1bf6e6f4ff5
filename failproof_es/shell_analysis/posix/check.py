"""Checks whether a command is written in the shell language of POSIX.

Two programs and our own rules decide (docs/reference/command-posix.md): shellcheck for `sh`
reports constructs that parse but are undefined in POSIX (SC3xxx and a few more), shfmt's POSIX
parser those that do not parse, `rules` those that both programs accept. Comments are removed
first: a directive in one would switch shellcheck off. No command is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from failproof_es.shell_analysis.errors import Unparseable
from failproof_es.shell_analysis.parse import programs, shell
from failproof_es.shell_analysis.parse.batching import answer_in_parts
from failproof_es.shell_analysis.parse.shell import Script
from failproof_es.shell_analysis.parse.syntax import walk
from failproof_es.shell_analysis.posix import rules, shellcheck
from failproof_es.shell_analysis.posix.rules import Edition
from failproof_es.shell_analysis.posix.shellcheck import ShellcheckRemark

VERSION = "3"
_DEEPEST = 10
_MOST_OPENED = {"[": 250, "{": 500}
"""shellcheck reads so many of these, wherever they are, in less than a second of processor time.
Its time grows with the square of the unclosed ones: 2,000 `[` take ten seconds."""

_NOT_ASKED = "TOO_DEEP: substitutions, brackets or braces, too deep to judge"

_ALWAYS = {2112, 2113, 2176, 2177}
"""`function` (2112, 2113) and `time` of a pipeline or compound command (2176, 2177)."""
_UNREADABLE = {0, 1072, 1088, 1089}
"""shellcheck could not parse the command, so it checked nothing."""
_SINCE_2024 = re.compile(
    r"\$'\.\.'"
    r"|set option pipefail|trap -p|read -d|cd -e"
    r"|ulimit -[HSacdnstv]\b"
    r"|lexicographical \\?[<>]"
    r"|-(nt|ot|ef) "
)
"""Constructs in shellcheck's messages that POSIX.1-2024 has and POSIX.1-2017 lacks."""


@dataclass(frozen=True, slots=True)
class PosixVerdict:
    """Whether a command is POSIX shell, and every violation.

    `reasons` has the violations as `CODE: words`; it is empty if `compliant`. `version` names the
    versions of the rules and the programs, and the edition.
    """

    compliant: bool
    reasons: tuple[str, ...]
    version: str


def check_posix(command: str, edition: Edition = "2017") -> PosixVerdict:
    """Check one command against an edition of POSIX; text that is no command is not compliant.

    Raises `ProgramMissing` unless `shfmt` and `shellcheck` are installed.
    """
    return check_posix_many([command], edition)[0]


def check_posix_many(commands: Iterable[str], edition: Edition = "2017") -> list[PosixVerdict]:
    """`check_posix` for each command, in order: many per process of each program, one process per
    core."""
    programs.require()  # a cached version must not hide that a program is missing
    version = f"posix-{VERSION}/{edition} {shell.tool_version()} {shellcheck.tool_version()}"
    judged = answer_in_parts(lambda part: _reasons(part, edition), list(commands))
    return [PosixVerdict(not reasons, reasons, version) for reasons in judged]


def _reasons(commands: Sequence[str], edition: Edition) -> list[tuple[str, ...]]:
    """For each command the reasons why it is not POSIX shell; empty if it is."""
    scripts = shell.parse_commands(commands)
    judged = iter(_judge([script for script in scripts if isinstance(script, Script)], edition))
    return [
        (f"UNPARSEABLE.{script.code}: {script.reason}",)
        if isinstance(script, Unparseable)
        else next(judged)
        for script in scripts
    ]


def _too_deep(script: Script) -> bool:
    """Whether substitutions are nested more than 10 deep, which is too slow in shellcheck.

    Its time doubles with each level; a fixed limit keeps the verdict the same everywhere.
    """
    if script.command.count("$") + script.command.count("`") <= _DEEPEST:
        return False  # every substitution begins with one of these
    pending: list[tuple[Any, int]] = [(script.tree, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > _DEEPEST:
            return True
        if isinstance(node, dict):
            depth += node.get("Type") == "CmdSubst"
            node = node.values()
        pending += [(child, depth) for child in node if isinstance(child, dict | list)]
    return False


def _is_slow(text: str, script: Script) -> bool:
    """Whether shellcheck is skipped, because it would take too long on some machine.

    `text` is the script's command as `_prepare_text` returns it.
    """
    return _too_deep(script) or any(text.count(sign) > most for sign, most in _MOST_OPENED.items())


def _judge(scripts: Sequence[Script], edition: Edition) -> Iterator[tuple[str, ...]]:
    texts = [_prepare_text(script, edition) for script in scripts]
    slow = [_is_slow(text, script) for text, script in zip(texts, scripts, strict=True)]
    quick_texts = [text for text, is_slow in zip(texts, slow, strict=True) if not is_slow]
    findings = iter(shellcheck.check(quick_texts))
    refusals = shell.refusals(texts, "posix")
    for script, is_slow, refusal in zip(scripts, slow, refusals, strict=True):
        script_findings = () if is_slow else next(findings)
        reasons = [_NOT_ASKED] if is_slow else []
        reasons += [
            f"SC{finding.code}: {finding.message}"
            for finding in script_findings
            if _is_violation(finding, edition)
        ]
        if refusal is not None:
            reasons.append(f"SHFMT: {refusal.reason}")
        reasons += rules.departures(script.tree, edition)
        yield tuple(dict.fromkeys(reasons))


def _is_violation(finding: ShellcheckRemark, edition: Edition) -> bool:
    if finding.code in _ALWAYS | _UNREADABLE:
        return True
    if finding.code // 1000 != 3:
        return False
    return edition == "2017" or not _SINCE_2024.search(finding.message)


def _prepare_text(script: Script, edition: Edition) -> str:
    """The command without comments; for 2024 with `;;` for `;&`, which no program knows yet."""
    if "#" not in script.command and (edition == "2017" or ";" not in script.command):
        return script.command
    text = script.command.encode()
    edits: list[tuple[int, int, bytes]] = []
    for node in walk(script.tree):
        if "Hash" in node and "Text" in node:
            edits.append((node["Pos"].get("Offset", 0), node["End"]["Offset"], b""))
        if edition == "2024" and node.get("Op") == ";&" and "OpPos" in node:
            edits.append((node["OpPos"]["Offset"], node["OpPos"]["Offset"] + 2, b";;"))
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text.decode()
