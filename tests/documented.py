"""What the pages show in blocks: commands with their output, snippets, configurations, cases.

A block may have one remark of its own, in a comment on the line before it:

- `<!-- not executed: WHY -->`: it cannot run in a test;
- `<!-- output not compared: WHY -->`: its commands run, and print something else in a test;
- `<!-- file: NAME -->`: the block is the content of a file that later commands read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^```(\S*)\n(.*?)^```$", re.M | re.S)
_REMARK = re.compile(r"<!-- (not executed|output not compared|file): (.+) -->\n\Z")


@dataclass(frozen=True)
class Command:
    """A command as it is typed, in words, and the lines that it is shown to print."""

    words: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its text, its line in the page, and its remark."""

    page: str
    line: int
    language: str
    text: str
    remark: str
    why: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def executed(self) -> bool:
        """Whether it is no exception."""
        return self.remark != "not executed"

    @cached_property
    def commands(self) -> list[Command]:
        """The commands of a session, each with its output. A comment is no part of one."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.replace("\\\n> ", " ").splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                assert found, f"{self}: a session begins with `$ `"
                found[-1][1].append(line)
        return [Command(_words(typed), tuple(shown)) for typed, shown in found]


def _words(typed: str) -> tuple[str, ...]:
    return tuple(shlex.split(typed.partition(" | ")[0], comments=True))


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page in their order."""
    text = page.read_text("utf-8")
    name = page.relative_to(ROOT).as_posix()
    for match in _FENCE.finditer(text):
        before = text[: match.start()]
        remark = _REMARK.search(before)
        what, why = (remark[1], remark[2]) if remark else ("", "")
        yield Block(name, before.count("\n") + 1, match[1], match[2], what, why)


def matches(shown: tuple[str, ...], out: str, err: str) -> str | None:
    """What is wrong with the lines that a page shows of a command's output; `None` if nothing.

    What went to standard output is shown completely, in order; lines of standard error may be
    shown anywhere. `...` stands for any text, on a line of its own for any lines. Spaces that
    align columns count as one.
    """
    errors = {_plain(line) for line in err.splitlines()}
    wanted = [line for line in map(_plain, shown) if line and line not in errors]
    pattern = "".join(
        "(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + "\n"
        for line in wanted
    )
    printed = "".join(f"{line}\n" for line in map(_plain, out.splitlines()) if line)
    return None if re.fullmatch(pattern, printed) else f"shown:\n{wanted}\nprinted:\n{printed}"


def _plain(line: str) -> str:
    return " ".join(line.split())
