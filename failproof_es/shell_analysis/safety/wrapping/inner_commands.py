"""Finds the command that a wrapper runs, from its arguments and `wrappers.toml`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from failproof_es.shell_analysis.safety.options import ParsedOptions, parse_options
from failproof_es.shell_analysis.safety.wrapping.wrapper_table import Wrapper


@dataclass(frozen=True, slots=True)
class Inner:
    """The command that a wrapper runs: words, or a text for a shell with the words as arguments.

    `asks`: whether the wrapper asks before each run.
    """

    words: tuple[str, ...] = ()
    text: str | None = None
    asks: bool = False


def readings(wrapper: Wrapper, arguments: tuple[str, ...]) -> list[ParsedOptions]:
    """The possible readings of a wrapper's arguments; several if an option is not in its table,
    which may or may not take a value."""
    parsed = parse_options(wrapper.syntax, arguments)
    if parsed.understood:
        return [parsed]
    complete_readings: dict[ParsedOptions, None] = {}
    pending, seen = [(parsed.options, parsed.unread)], set()
    while pending:
        options, unread = pending.pop()
        for rest in (unread, unread[1:]):
            for operands in range(wrapper.syntax.operands + 1):
                if (len(rest), operands) in seen:
                    continue
                seen.add((len(rest), operands))
                syntax = replace(wrapper.syntax, operands=operands, leading=False)
                read = parse_options(syntax, rest)
                read = replace(read, options=options + read.options)
                if read.understood:
                    complete_readings[read] = None
                else:
                    pending.append((read.options, read.unread))
    return list(complete_readings)


def subcommands(wrapper: Wrapper, arguments: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The subcommand of a program for containers, with its arguments, in each possible reading.

    `wrapper` has the program's own options. `container` and `compose` before the subcommand are
    left out.
    """
    pending = [arguments]
    while pending:
        for parsed in readings(wrapper, pending.pop()):
            if parsed.words[:1] in (("container",), ("compose",)):
                pending.append(parsed.words[1:])
            else:
                yield parsed.words


def runs(wrapper: Wrapper, parsed: ParsedOptions) -> list[Inner]:
    """The commands that a wrapper runs, by its entry in `wrappers.toml`; `parsed` is one reading of
    its arguments."""
    inner_commands = [Inner(text=text) for text in parsed.values(*wrapper.text)]
    words = parsed.words
    if not words or wrapper.runs == "nothing":
        starts = wrapper.starts_shell or parsed.has(*wrapper.login)
        return inner_commands or ([Inner(("sh",))] if starts and not words else [])
    if wrapper.runs == "arguments":
        return [*inner_commands, Inner(("sh", *words))]
    as_text = parsed.has(*wrapper.shell) or wrapper.runs == "text"
    if as_text and not parsed.has(*wrapper.words):
        return [*inner_commands, Inner(text=" ".join(words))]
    return [*inner_commands, Inner(words)]
