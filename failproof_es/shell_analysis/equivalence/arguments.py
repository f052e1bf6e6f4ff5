"""Parses a program's arguments as `getopt` does, into a canonical order.

`safety.options` parses arguments, too, but can't be shared. There a part that is unknown before a
run is a mark within a text, and doubtful arguments get the worst reading. Here words keep their
parts, which make up the compared form, and doubtful arguments are compared as written. The tables
differ as well: `utilities.toml` lists the synonymous options of a few programs, the tables of
`safety` list what many programs may write or run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from failproof_es.shell_analysis.equivalence.programs import signals
from failproof_es.shell_analysis.equivalence.words import (
    Form,
    Inert,
    Word,
    in_order,
    is_number,
    literal,
)
from failproof_es.shell_analysis.parse import option_table
from failproof_es.shell_analysis.parse.option_table import Utility


class UnreadableArguments(Exception):
    """The error for arguments that can't be read for certain; the command is compared as
    written."""


class Option(NamedTuple):
    """An option that was given, with its value; `None` if it was given without one."""

    name: str
    value: Word | None


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parsed arguments of a command: its options in order, and its operands.

    `protected`: whether `--` precedes an operand that could turn out to begin with a dash.
    """

    options: tuple[Option, ...]
    operands: tuple[Word, ...]
    protected: bool

    def has(self, *names: str) -> bool:
        """Whether one of these options, by their canonical names, was given."""
        return any(option.name in names for option in self.options)

    def values(self, *names: str) -> list[Word]:
        """The values given to these options, by their canonical names, in order."""
        return [o.value for o in self.options if o.name in names and o.value is not None]


def rules_of(program: str, described: str = "it") -> Utility:
    """The program's rules in `utilities.toml`.

    Raises `UnreadableArguments` if it has none; `described` names the program in the message.
    """
    utility = option_table.utility(program)
    if utility is None:
        raise UnreadableArguments(f"no rule for {described}")
    return utility


def read_arguments(words: Sequence[Word], utility: Utility) -> Arguments:
    """The options and operands in the arguments of a program, by its rules.

    Raises `UnreadableArguments` if an option is unknown or lacks its value, or if an option follows
    a word that may become several.
    """
    options: list[Option] = []
    operands: list[Word] = []
    pending = list(words)
    protected = unsure = False
    while pending:
        word = pending.pop(0)
        if word.text == "--":
            protected = any(operand.begins_unknown for operand in pending)
            operands += pending
            break
        if word.start.startswith("-") and word.text != "-":
            if unsure:
                raise UnreadableArguments("an option after a word that may become several")
            place = len(words) - len(pending)
            options += _read_number_option(word, place, words, utility) or _read_options(
                word, pending, utility
            )
            continue
        operands.append(word)
        unsure = unsure or (word.may_be_several and word.begins_unknown)
        if not utility.permutes:
            operands += pending
            break
    return Arguments(tuple(options), tuple(operands), protected)


def _read_number_option(
    word: Word, place: int, words: Sequence[Word], utility: Utility
) -> list[Option]:
    """The option that a number such as `-5` stands for; empty if the word is none.

    `place` is the position of the word, from 1. Raises `UnreadableArguments` if the program takes a
    number, but not there.
    """
    text = word.text or ""
    if utility.number is None or not is_number(text[1:]) or text in utility.names:
        return []
    if utility.number_place != "any" and (
        place > 1 or (utility.number_place == "only" and not _is_short(words))
    ):
        raise UnreadableArguments(f"{text} in this place")
    return [Option(utility.number, literal(text[1:]))]


def _is_short(words: Sequence[Word]) -> bool:
    """Whether there are at most two words, whatever they expand to."""
    return len(words) <= 2 and all(word.is_one_word for word in words)


def _read_options(word: Word, pending: list[Word], utility: Utility) -> list[Option]:
    """The options in one word; the value of the last may be taken from `pending`, the next words.

    Raises `UnreadableArguments` for an unknown option or a missing value.
    """
    if word.start.startswith("--"):
        return [_read_long_option(word, pending, utility)]
    text = word.text
    if text is not None and len(text) == 3 and text in utility.names:
        name = utility.names[text]
        return [
            Option(name.option, _take_value(pending, text) if name.argument == "required" else None)
        ]
    return _read_bundle(word, pending, utility)


def _read_bundle(word: Word, pending: list[Word], utility: Utility) -> list[Option]:
    options: list[Option] = []
    rest = word.without_start(1)
    while rest is not None:
        letter = rest.start[:1]
        name = utility.names.get(f"-{letter}")
        if not letter or name is None:
            raise UnreadableArguments(f"option -{letter or '?'}")
        rest = rest.without_start(1)
        if name.argument == "none":
            options.append(Option(name.option, None))
            continue
        if rest is not None and not utility.attached:
            raise UnreadableArguments(f"option -{letter} with a value attached")
        if rest is None and name.argument == "required":
            rest = _take_value(pending, f"-{letter}")
        options.append(Option(name.option, rest))
        break
    return options


def _read_long_option(word: Word, pending: list[Word], utility: Utility) -> Option:
    spelling, equals, _ = word.start.partition("=")
    name = utility.long_name(spelling)
    if name is None or (not equals and word.text is None):
        raise UnreadableArguments(f"option {spelling}")
    if equals:
        if name.argument == "none":
            raise UnreadableArguments(f"option {spelling} with a value")
        return Option(name.option, word.without_start(len(spelling) + 1) or Word((Inert(""),)))
    if name.argument == "required":
        return Option(name.option, _take_value(pending, spelling))
    return Option(name.option, None)


def _take_value(pending: list[Word], name: str) -> Word:
    if not pending:
        raise UnreadableArguments(f"option {name} without a value")
    return pending.pop(0)


def take_script(
    arguments: Arguments, names: Sequence[str]
) -> tuple[list[Option], tuple[Word, ...], tuple[Word, ...]]:
    """Options including the script, remaining operands, and the script if it may be an option.

    `names` are the options that give a script, such as `-e`. Without one of them the first operand
    is the script, as a value of `names[0]`. The third part is empty, or has that operand if it
    could begin with a dash and no `--` is given. Raises `UnreadableArguments` if there is no
    script.
    """
    if arguments.has(*names):
        return list(arguments.options), arguments.operands, ()
    if not arguments.operands:
        raise UnreadableArguments("no pattern or script")
    script, *operands = arguments.operands
    unsafe = (script,) if script.begins_unknown and not arguments.protected else ()
    return [*arguments.options, Option(names[0], script)], tuple(operands), unsafe


def normalize_options(options: Sequence[Option], utility: Utility) -> tuple[Option, ...]:
    """The options in canonical spelling and order, without redundant ones, by the program's
    rules."""
    remaining = [meaning for option in options for meaning in _canonical_options(option, utility)]
    if utility.free:
        remaining = _drop_overridden(remaining, utility)
        remaining = [o for o in remaining if not _is_default(o, remaining, utility)]
    ordered: list[Option] = []
    while remaining:
        ready = [
            index
            for index, option in enumerate(remaining)
            if not any(utility.conflict(option.name, before.name) for before in remaining[:index])
        ]
        ordered.append(remaining.pop(min(ready, key=lambda index: repr(remaining[index]))))
    return tuple(ordered)


def _canonical_options(option: Option, utility: Utility) -> list[Option]:
    """The options that stand for this one in normal form, by `means` of `utilities.toml`.

    The option itself if it has no entry there.
    """
    text = option.value.text if option.value is not None else None
    value = option.value
    if text is not None and option.name in utility.signals:
        value = literal(signals.signal_number(text) or text)
    if option.value is None:
        instead = utility.means.get(option.name)
    elif text is None:
        instead = None
    else:
        instead = utility.means.get(f"{option.name}={text}")
        for pattern, target in utility.means.items():
            start = f"{option.name}={text}"
            if instead is None and pattern.endswith("*") and start.startswith(pattern[:-1]):
                rest = start[len(pattern) - 1 :]
                return [Option(n, literal((v or "").replace("*", rest))) for n, v in target]
    if instead is None:
        return [Option(option.name, value)]
    return [Option(name, None if v is None else literal(v)) for name, v in instead]


def _drop_overridden(options: list[Option], utility: Utility) -> list[Option]:
    """The options without those that a later one overrides or repeats."""
    effective: list[Option] = []
    for index, option in enumerate(options):
        later = options[index + 1 :]
        if any(
            option.name in group and any(successor.name in group for successor in later)
            for group in utility.last
        ):
            continue
        again = [successor for successor in later if successor.name == option.name]
        if option.name in utility.last_value and again:
            continue
        rivals = [
            o for o in options if o.name != option.name and utility.conflict(o.name, option.name)
        ]
        idle = option.value is None and option.name not in utility.counts and not rivals
        if again and idle:
            continue
        effective.append(option)
    return effective


def _is_default(option: Option, options: list[Option], utility: Utility) -> bool:
    default = utility.defaults.get(option.name)
    return (
        default is not None
        and option.value is not None
        and option.value.text == default
        and not any(o is not option and utility.conflict(o.name, option.name) for o in options)
    )


def settled_operands(
    operands: Sequence[Word], options: Sequence[Option], utility: Utility
) -> tuple[Form, ...]:
    """The operands, by default the program's own; sorted if their order doesn't matter.

    Their order matters unless the rules say otherwise, no option shows it and no paths overlap.
    """
    if not operands and utility.default is not None:
        return (literal(utility.default),)
    start = utility.operands
    is_order_shown = any(option.name in utility.shows for option in options)
    if start is None or is_order_shown or not _are_apart(operands[start:]):
        return tuple(operands)
    return (*operands[:start], *in_order(operands[start:]))


def _are_apart(operands: Sequence[Word]) -> bool:
    """Whether no operand is, or could be, the path of another one or of a folder above it."""
    paths = [word.text for word in operands]
    if None in paths or len(set(paths)) < len(paths):
        return False
    parts = [tuple(p for p in str(path).split("/") if p not in ("", ".")) for path in paths]
    if any(".." in components for components in parts):
        return False
    return not any(a is not b and a == b[: len(a)] for a in parts for b in parts)
