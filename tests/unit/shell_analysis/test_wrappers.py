"""However a wrapper's options are written, the command behind them is the one that is found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from failproof_es.shell_analysis.parse.option_table import utility
from failproof_es.shell_analysis.safety.options import (
    Syntax,
    Value,
    option_kinds,
    parse_options,
)
from failproof_es.shell_analysis.safety.wrapping.inner_commands import Inner
from failproof_es.shell_analysis.safety.wrapping.wrapper_table import Wrapper, wrapper_table
from failproof_es.shell_analysis.safety.wrapping.wrappers import inside
from tests.every import every

INNER = ("rm", "-rf", "/")
VALUES = ("root", "n", "5", "-c", "a=b", "/x y")
TABLE = wrapper_table()


def no_items(_: str | None) -> list[str]:
    return []


CALLED = {
    "docker options": (("docker",), ("exec", "box")),
    "kubectl options": (("kubectl",), ("exec", "pod", "--")),
    "runuser -u": (("runuser", "-u", "bob"), ()),
    "tmux": (("tmux",), ("new-window",)),
    "git options": (("git",), ("bisect", "run")),
    "su": (("su",), ("bob", "-c")),
    "runuser": (("runuser",), ("bob", "-c")),
    "capsh": (("capsh",), ("--", "-c")),
    "setarch": (("setarch", "x86_64"), ()),
    "start-stop-daemon": (("start-stop-daemon", "-S"), ("--exec", "rm", "--")),
}
"""How to call what is not called by its name and followed by its operands and the command."""

AS_TEXT = {"su", "runuser", "capsh", "tmux if-shell", "tmux send-keys"}

OTHERWISE = {
    "env": {"-S", "--split-string"},
    "genv": {"-S", "--split-string"},
    "runuser": {"-u", "--user"},
    "screen": {"-X", "-r", "-R", "-x"},
    "start-stop-daemon": {"-x", "--exec", "-a", "--startas"},
}
"""Options with which something else is run; they have tests of their own."""


def spellings(options: dict[str, Value], name: str, wrapper: Wrapper) -> Iterator[list[str]]:
    """Every way to write one option, alone or behind a letter without a value."""
    kind = options[name]
    if len(name) == 2:
        flags = [n[1] for n, k in options.items() if k == "none" and len(n) == 2]
        plain = [f for f in flags if f"-{f}" not in (*wrapper.asks, "-X", "-x", "-p")]
        for before in ("", *plain):
            if kind != "required":
                yield [f"-{before}{name[1]}"]
            for value in VALUES if kind != "none" else ():
                yield [f"-{before}{name[1]}{value}"]
                if kind == "required":
                    yield [f"-{before}{name[1]}", value]
        return
    for written in (name, *_cut_short(options, name, wrapper)):
        if kind != "required":
            yield [written]
        for value in VALUES if kind != "none" else ():
            yield [f"{written}={value}"]
            if kind == "required":
                yield [written, value]


def _cut_short(options: dict[str, Value], name: str, wrapper: Wrapper) -> Iterator[str]:
    if wrapper.syntax.style in ("gnu", "perl"):
        for length in range(3, len(name)):
            if sum(other.startswith(name[:length]) for other in options) == 1:
                yield name[:length]


def _lines(name: str) -> Iterator[tuple[str, ...]]:
    wrapper = TABLE[name]
    before, behind = CALLED.get(name, (tuple(name.split()), ()))
    if name not in ("su", "runuser"):
        behind = ("7",) * wrapper.syntax.operands + behind
    options = dict(wrapper.syntax.options)
    if name == "screen":  # `-ls` lists sessions, though `-l -s` runs the command
        del options["-s"]
    left_out = {*wrapper.asks, *wrapper.text, *OTHERWISE.get(name, ())}
    yield (*before, *behind)
    if name not in CALLED:
        yield (*before, "--", *behind)
    for option in options.keys() - left_out:
        for written in spellings(options, option, wrapper):
            if written[0][1:3] != "--" and not (left_out & {f"-{c}" for c in written[0][1:2]}):
                perl = wrapper.syntax.style == "perl" and options[option] == "optional"
                separate = ("--",) if perl else ()
                yield (*before, *written, *separate, *behind)


@every("name", TABLE)
@pytest.mark.long
def test_every_spelling_of_every_option_leaves_the_command_behind_it(name: str) -> None:
    as_text = name in AS_TEXT
    as_tail = name == "start-stop-daemon"
    for line in _lines(name):
        words = (" ".join(INNER),) if as_text else INNER[1:] if as_tail else INNER
        found = inside(line[0], (*line[1:], *words), no_items)
        texts = {each.text or " ".join(each.words) for each in found}
        assert texts in ({"rm -rf /"}, {"sh -c rm -rf /"}), line


TEXTS = [name for name, wrapper in TABLE.items() if wrapper.text and name != "tmux"]


@every("name", TEXTS)
def test_every_spelling_of_an_option_that_holds_a_command_gives_the_command(name: str) -> None:
    wrapper = TABLE[name]
    before, _ = CALLED.get(name, ((name,), ()))
    operands = ("7",) * wrapper.syntax.operands
    for option in wrapper.text:
        attached = f"{option}rm -rf /" if len(option) == 2 else f"{option}=rm -rf /"
        for written in ((attached,), (option, "rm -rf /")):
            for line in ((*before, *written, *operands), (*before, *operands, *written)):
                assert Inner(text="rm -rf /") in inside(line[0], line[1:], no_items), line


@every(
    "line",
    [
        "sudo --a-new-option rm -rf /",
        "sudo --a-new-option value rm -rf /",
        "sudo --new --newer value -u root rm -rf /",
        "taskset -c0 rm -rf /",
        "timeout --new 5 rm -rf /",
        "timeout --new value 5 rm -rf /",
        "nice -Z rm -rf /",
        "chroot --new=x /srv rm -rf /",
    ],
)
def test_behind_an_option_that_is_not_known_every_reading_is_judged(line: str) -> None:
    name, *arguments = line.split()
    assert Inner(INNER) in inside(name, tuple(arguments), no_items)


def test_readings_of_options_that_are_not_known_are_few() -> None:
    arguments = ("--new",) * 300 + INNER
    assert len(inside("timeout", arguments, no_items)) < 20


@every(
    ("short", "long", "words", "options", "rest"),
    [
        ("ab:c::", "", "-abx y", [("-a", None), ("-b", "x")], "y"),
        ("ab:c::", "", "-ab x y", [("-a", None), ("-b", "x")], "y"),
        ("ab:c::", "", "-c x", [("-c", None)], "x"),
        ("ab:c::", "", "-cx y", [("-c", "x")], "y"),
        ("ab:c::", "", "-b -- y", [("-b", "--")], "y"),
        ("ab:c::", "", "-- -b y", [], "-b y"),
        ("ab:c::", "", "x -a", [], "x -a"),
        ("a", "", "- x", [], "- x"),
        ("", "name= other third[=]", "--name x y", [("--name", "x")], "y"),
        ("", "name= other third[=]", "--na=x --oth y", [("--name", "x"), ("--other", None)], "y"),
        ("", "name= other third[=]", "--third x", [("--third", None)], "x"),
        ("", "name= other third[=]", "--th=x y", [("--third", "x")], "y"),
        ("", "name= names=", "--name x y", [("--name", "x")], "y"),
    ],
)
def test_options_are_read_as_getopt_reads_them(
    short: str, long: str, words: str, options: list[tuple[str, str | None]], rest: str
) -> None:
    parsed = parse_options(Syntax(option_kinds(short, long)), tuple(words.split()))
    assert list(parsed.options) == options
    assert parsed.words == tuple(rest.split())
    assert parsed.understood


@every("words", ["-x", "-ax", "--unknown", "--n", "-a-"])
def test_an_option_that_is_not_there_or_not_unique_is_not_understood(words: str) -> None:
    syntax = Syntax(option_kinds("ab:", "name= next"))
    parsed = parse_options(syntax, (words, "y"))
    assert not parsed.understood
    assert parsed.unread == ("y",)


def test_options_may_stand_behind_operands_where_the_program_permutes() -> None:
    kinds = option_kinds("c:l", "")
    words = ("bob", "-c", "x", "y", "-l", "--", "-z")
    assert parse_options(Syntax(kinds, permutes=True), words).words == ("bob", "y", "-z")
    assert parse_options(Syntax(kinds), words).words == words


def test_the_table_says_the_same_of_an_option_as_the_equivalence_checker_does() -> None:
    compared = 0
    for name, wrapper in TABLE.items():
        known = utility(name)
        for option, kind in wrapper.syntax.options.items():
            if known is not None and option in known.names:
                compared += 1
                # `--help` does not always tell that a value may be attached.
                said = {known.names[option].argument, kind}
                assert len(said) == 1 or said == {"none", "optional"}, (name, option)
    assert compared > 100
