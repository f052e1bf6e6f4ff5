"""The parts of the equivalence checker that need no parser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.shell_analysis.equivalence.arguments import (
    Option,
    UnreadableArguments,
    normalize_options,
    read_arguments,
    settled_operands,
)
from failproof_es.shell_analysis.equivalence.braces import Piece, Unquoted, expand_braces
from failproof_es.shell_analysis.equivalence.programs import signals
from failproof_es.shell_analysis.equivalence.programs.awk_program import normal_awk
from failproof_es.shell_analysis.equivalence.programs.sed_script import normal_script
from failproof_es.shell_analysis.equivalence.words import (
    Active,
    Expansion,
    Inert,
    Word,
    joined,
    literal,
)
from failproof_es.shell_analysis.parse import option_table
from failproof_es.shell_analysis.parse.option_table import Utility
from tests.every import every
from tools.shell_option_table import parse_help

HELP = """
Usage: frob [OPTION]... [FILE]...
  -a, --all                  do not ignore entries
  -n, --lines=NUM            print NUM lines
  -F, --classify[=WHEN]      append an indicator
  -I[FMT], --iso[=FMT]       output a date
  -p, --style=slash          append a slash
      --style=WORD           append an indicator of style WORD
  -e script, --expression=script
                             add the script
  -c  --format=FORMAT        use another format
  --verbose, -v              say more
the -x in running text is no option
"""


def utility(name: str) -> Utility:
    found = option_table.utility(name)
    assert found is not None
    return found


def options(name: str, *words: str) -> tuple[Option, ...]:
    arguments = read_arguments([literal(word) for word in words], utility(name))
    return normalize_options(arguments.options, utility(name))


def spread(text: str) -> list[str]:
    pieces: list[Piece] = [Unquoted(each) for each in text]
    words = expand_braces(pieces)
    return [
        "".join(each.character if isinstance(each, Unquoted) else f"{each}" for each in word)
        if all(isinstance(each, Unquoted) for each in word)
        else "".join(_shown(each) for each in word)
        for word in words
    ]


def _shown(piece: Piece) -> str:
    match piece:
        case Unquoted(character):
            return character
        case Inert(text):
            return text
        case Active(text):
            return f"<{text}>"
        case _:
            return "?"


def test_help_text_gives_names_and_kinds_of_arguments() -> None:
    assert parse_help(HELP) == {
        "-a --all": "none",
        "-n --lines": "required",
        "-F --classify": "none optional",
        "-I --iso": "optional",
        "-p": "none",
        "--style": "required",
        "-e --expression": "required",
        "-c --format": "required",
        "--verbose -v": "none",
    }


@every(
    ("written", "words"),
    [
        ("a{b,c}d", ["abd", "acd"]),
        ("{a,b}{c,d}", ["ac", "ad", "bc", "bd"]),
        ("a{b,{c,d}}", ["ab", "ac", "ad"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{1..7..3}", ["1", "4", "7"]),
        ("{a..c}", ["a", "b", "c"]),
        ("x{,.bak}", ["x", "x.bak"]),
        ("{}", ["{}"]),
        ("{a}", ["{a}"]),
        ("{a,b", ["{a,b"]),
        ("{01..03}", ["<{><0><1><.><.><0><3><}>"]),
    ],
)
def test_braces_expand_as_in_bash(written: str, words: list[str]) -> None:
    assert spread(written) == words


def test_braces_that_grow_beyond_bounds_stay_active() -> None:
    (word,) = expand_braces([Unquoted(each) for each in "{1..100000}"])
    assert all(isinstance(piece, Active) for piece in word)


@every("written", ["9", "KILL", "SIGKILL", "kill", "09"])
def test_a_signal_has_one_number_however_it_is_written(written: str) -> None:
    assert signals.signal_number(written) == "9"


@every("written", ["", "99", "l", "KILLS", "٩"])
def test_what_is_no_signal_has_no_number(written: str) -> None:
    assert signals.signal_number(written) is None


def test_every_entry_of_the_table_can_be_read() -> None:
    for name in ("ls", "grep", "tar", "xargs", "git log", "rsync", "sudo", "curl"):
        assert utility(name).names


def test_bundles_long_names_and_attached_values_are_read_as_getopt_does() -> None:
    expected = options("grep", "-i", "-n", "-A", "3")
    assert options("grep", "-inA3") == expected
    assert options("grep", "--line-number", "--after-context=3", "--ignore-case") == expected
    assert options("grep", "--after-c", "3", "-ni") == expected


def test_of_rivals_the_last_one_counts() -> None:
    assert options("ls", "-t", "-S") == options("ls", "-S")
    assert options("ls", "-S", "-t") != options("ls", "-S")


def test_a_program_without_an_order_keeps_the_order() -> None:
    assert options("cmp", "-l", "-b") != options("cmp", "-b", "-l")


@every("words", [["-Y"], ["--no-such"], ["-A"], ["--count=3"], ["--no"]])
def test_arguments_that_the_program_would_refuse_are_not_understood(words: list[str]) -> None:
    with pytest.raises(UnreadableArguments):
        options("grep", *words)


def test_an_option_behind_a_word_that_may_be_several_is_not_understood() -> None:
    unquoted = Word((Expansion(("$", "x"), False),))
    with pytest.raises(UnreadableArguments):
        read_arguments([unquoted, literal("-i")], utility("grep"))


def test_operands_change_places_only_where_they_cannot_meet() -> None:
    def form(*words: str) -> object:
        return settled_operands([literal(word) for word in words], [], utility("rm"))

    assert form("a", "b") == form("b", "a")
    assert form("a", "a/b") != form("a/b", "a")
    assert form("a", "../a") != form("../a", "a")


def sed(*scripts: str) -> object:
    return normal_script([Option("-e", literal(script)) for script in scripts])


@every(
    ("one", "other"),
    [
        ("s/a/b/", "s|a|b|"),
        (r"s/\/a/b/", "s,/a,b,"),
        ("1d;2d", "1 d\n2d"),
        ("s/a/b/gI", "s/a/b/ig"),
        ("/x/{p;d}", "/x/ { p; d; }"),
        ("$!N", "$ ! N"),
    ],
)
def test_sed_scripts_that_do_the_same_have_one_form(one: str, other: str) -> None:
    assert sed(one) == sed(other)


@every(
    ("one", "other"),
    [
        (r"s|a\|b|x|", r"s/a\|b/x/"),
        ("s/a/b/;s/c/d/", "s/c/d/;s/a/b/"),
        ("1,5p", "1~5p"),
        ("s/[/]/x/", "s/[|]/x/"),
        ("a  x", "a y"),
        ("s.a\\.b.c.", "s/a.b/c/"),
    ],
)
def test_sed_scripts_that_differ_keep_two_forms(one: str, other: str) -> None:
    assert sed(one) != sed(other)


@given(st.text(alphabet="sy/|,;\\{}[]p1$!&\n ab", max_size=12))
def test_no_sed_script_makes_the_reader_fail(script: str) -> None:
    assert sed(script) == sed(script)


def test_awk_blanks_mean_nothing_between_tokens_and_everything_in_strings() -> None:
    def form(program: str) -> object:
        return normal_awk("awk", "awk", [literal(program)], None)  # type: ignore[arg-type]

    assert form("{print $1,$2}") == form("{ print  $1 , $2; }")
    assert form('{print "a b"}') != form('{print "a  b"}')
    assert form("/a b/") != form("/ab/")
    assert form("{print a b}") != form("{print ab}")


@given(st.lists(st.sampled_from([Inert("a"), Inert(""), Active("*"), Expansion("x", True)])))
def test_a_word_vanishes_only_without_atoms(atoms: list[Inert | Active | Expansion]) -> None:
    assert (joined(atoms) is None) == (not atoms)
