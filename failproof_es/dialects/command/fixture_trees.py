"""Three small file trees on which two commands are run to see whether they do the same.

The trees hold what commands are usually about, and every name that the commands mention: once
as a file, once as a folder, once as a file that differs. All times are fixed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from failproof_es.dialects.command.shell import Unparseable, parse

NAMES = ("documents", "project", "oddities")

_PATH = re.compile(r"(?!-)[\w.-]+(?:/[\w.-]+)*")
_TIME = 1_600_000_000
_DAY = 86_400
_LINES = {
    "documents": "alpha 1\nbeta 22\ngamma 3\nbeta 22\nerror: foo 10:20\n",
    "project": "import os\n# TODO main\nfoo=bar,10,x\nWARNING error at 7\n\nlast line\n",
    "oddities": "10\t9 8\nFoo foo FOO\n/path/to: x:y:z\n  indented\nno newline at the end",
}
_FILES: dict[str, tuple[str, ...]] = {
    "documents": ("a.txt", "b.txt", "notes.md", "data.csv", "my file.txt", ".hidden", "sub/c.txt"),
    "project": ("src/main.c", "src/util.h", "src/app.py", "logs/app.log", "logs/old.log", "run.sh"),
    "oddities": ("UPPER.TXT", "-dash", "a b/c d.log", "x.log", "x.jpg", "deep/er/still/x.py"),
}


def build(folder: Path, name: str, commands: Iterable[str]) -> None:
    """Write the tree `name` into an empty folder, with what the commands mention."""
    for number, path in enumerate(_FILES[name]):
        _write(folder / path, _LINES[name] * (number + 1))
    (folder / "empty").mkdir()
    (folder / "none.txt").touch()
    (folder / "link").symlink_to(_FILES[name][0])
    for path in sorted(set(_mentioned(commands))):
        target = folder / path
        if os.path.lexists(target) or any(each.is_file() for each in target.parents):
            continue
        if name == "project" and "." not in path:
            _write(target / "inside.txt", _LINES[name])
        else:
            _write(target, _LINES[name] + path + "\n")
    _settle(folder)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _settle(folder: Path) -> None:
    """Fixed modes and times, each file's its own, folders after what is in them."""
    paths = sorted(folder.rglob("*"), reverse=True)
    for number, path in enumerate(paths):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)
        when = _TIME + number * _DAY
        os.utime(path, (when, when), follow_symlinks=False)


def _mentioned(commands: Iterable[str]) -> Iterator[str]:
    """Relative paths among the literal arguments of the commands."""
    for command in commands:
        try:
            pending: list[Any] = [parse(command).tree]
        except Unparseable:
            continue
        while pending:
            node = pending.pop()
            if isinstance(node, list):
                pending += node
            elif isinstance(node, dict):
                pending += node.values()
                words = [*(node.get("Args") or [])[1:], *_targets(node)]
                for text in map(_literal, words):
                    if _PATH.fullmatch(text) and ".." not in text and text.strip("."):
                        yield text


def _targets(node: dict[str, Any]) -> list[Any]:
    """The files that a statement reads by redirection."""
    return [each["Word"] for each in node.get("Redirs") or [] if each["Op"] == "<"]


def _literal(word: dict[str, Any]) -> str:
    parts = word.get("Parts") or []
    if len(parts) != 1:
        return ""
    inner = parts[0].get("Parts", parts) if parts[0].get("Type") == "DblQuoted" else parts
    return str(inner[0].get("Value", "")) if len(inner) == 1 else ""
