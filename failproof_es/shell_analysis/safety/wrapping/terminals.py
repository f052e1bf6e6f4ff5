"""Finds the commands that `screen` and `tmux` run or type into a terminal."""

from __future__ import annotations

import re
import shlex

from failproof_es.shell_analysis.safety.wrapping.inner_commands import Inner, readings, runs
from failproof_es.shell_analysis.safety.wrapping.wrapper_table import wrapper_table

_TABLE = wrapper_table()
_OF_SESSIONS = re.compile(r"-[A-Za-z]*[rxR]|-ls|-list|-wipe")


def split_words(text: str) -> list[str]:
    """The words in a text, split by its quotes if these are closed, else at blanks."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def in_screen(arguments: tuple[str, ...]) -> list[Inner]:
    """The commands that `screen` runs: of `screen [options] command`, or with `-X` in a command of
    screen itself."""
    if any(_OF_SESSIONS.fullmatch(word) for word in arguments):
        return []  # the operand is a session, not a command
    inner_commands = []
    for parsed in readings(_TABLE["screen"], arguments):
        words = parsed.words
        if not parsed.has("-X"):
            inner_commands += [Inner(words)] if words else []
        elif words[:1] == ("stuff",):
            inner_commands.append(Inner(text=_typed_text(" ".join(words[1:]))))
        elif words[:1] in (("screen",), ("exec",)) and words[1:]:
            inner_commands.append(Inner(words[1:]))
    return inner_commands


def _typed_text(text: str) -> str:
    """The text that keys type into a terminal: `\\n`, `^M` and `\\015` end a line."""
    return re.sub(r"\\n|\\r|\^M|\\015|\\012|\r", "\n", text)


_KEYS = re.compile(r"Enter|Space|Escape|Tab|BSpace|[CMS]-\S", re.IGNORECASE)


def in_tmux(arguments: tuple[str, ...]) -> list[Inner]:
    """The commands that `tmux` runs, or types into a terminal.

    `;` separates commands of tmux itself, whose names may be abbreviated.
    """
    outer = _TABLE["tmux"]
    inner_commands = []
    for parsed in readings(outer, arguments):
        inner_commands += [Inner(text=text) for text in parsed.values(*outer.text)]
        command: list[str] = []
        for word in (*parsed.words, ";"):
            if word == ";" or word.endswith(";"):
                command += [word[:-1]] if word != ";" else []
                inner_commands += _read_tmux_command(command)
                command = []
            else:
                command.append(word)
    return inner_commands


_TMUX_NAMES = {
    "new": "new-session", "neww": "new-window", "splitw": "split-window", "run": "run-shell",
    "respawnp": "respawn-pane", "respawnw": "respawn-window", "if": "if-shell",
    "pipep": "pipe-pane", "popup": "display-popup", "send": "send-keys",
}  # fmt: skip


def _read_tmux_command(command: list[str]) -> list[Inner]:
    if not command:
        return []
    prefix = _TMUX_NAMES.get(command[0], command[0])
    full = [name for name in _TMUX_NAMES.values() if name.startswith(prefix)]
    if len(full) != 1:
        return []
    wrapper = _TABLE[f"tmux {full[0]}"]
    inner_commands = []
    for parsed in readings(wrapper, tuple(command[1:])):
        words = parsed.words
        if full[0] == "send-keys":
            typed = "".join("\n" if _KEYS.fullmatch(word) else word for word in words)
            inner_commands += [Inner(text=_typed_text(typed))] if words else []
        elif full[0] == "if-shell" and words:
            inner_commands += [
                Inner(text=words[0]),
                *(Inner(("tmux", *split_words(w))) for w in words[1:]),
            ]
        else:
            inner_commands += runs(wrapper, parsed)
    return inner_commands
