"""`tar`: the first word may be a bundle without a dash; an option may apply to later files."""

from __future__ import annotations

from collections.abc import Sequence

from failproof_es.shell_analysis.equivalence.arguments import (
    Option,
    UnreadableArguments,
    read_arguments,
    rules_of,
)
from failproof_es.shell_analysis.equivalence.statements import Statements
from failproof_es.shell_analysis.equivalence.words import Form, Word, in_order, literal
from failproof_es.shell_analysis.parse.option_table import Utility

_MODES = {"-c", "-x", "-t", "-r", "-u", "-A", "-d", "--delete", "--test-label"}
_FREE = {
    "-z", "-j", "-J", "-Z", "-a", "-v", "-k", "-m", "-O", "-p", "-P", "-S", "-w", "-W", "-h", "-f",
    "--zstd", "--lzma", "--lzip", "--one-file-system", "--overwrite", "--skip-old-files",
    "--keep-newer-files", "--strip-components", "--remove-files", "--numeric-owner",
    "--no-same-owner", "--no-same-permissions", "--same-owner", "--totals", "--owner", "--group",
    "--mode", "--mtime", "--transform",
}  # fmt: skip


def normal_tar(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of a `tar` command: mode, options, files in order.

    Raises `UnreadableArguments` unless it has exactly one mode and options that can be read.
    """
    utility = rules_of("tar")
    options, sequence = _split_arguments(_with_dash(list(words), utility), utility)
    modes = {option.name for option in options if option.name in _MODES}
    if len(modes) != 1:
        raise UnreadableArguments(f"{len(modes)} modes of operation")
    other_options = [option for option in options if option.name not in _MODES]
    _refuse_rivals(other_options)
    verbosity = sum(option.name == "-v" for option in other_options)
    return ("tar", name, *modes, in_order(set(other_options)), verbosity, sequence)


def _with_dash(words: list[Word], utility: Utility) -> list[Word]:
    """The words with a first word such as `czf` split into options, each before its value.

    Raises `UnreadableArguments` for an unknown letter or a missing value.
    """
    if not words or words[0].start.startswith("-"):
        return words
    letters, rest = words[0].text, words[1:]
    if letters is None:
        raise UnreadableArguments("a computed bundle")
    plain: list[Word] = []
    for letter in letters:
        name = utility.names.get(f"-{letter}")
        if name is None:
            raise UnreadableArguments(f"option {letter}")
        plain.append(literal(f"-{letter}"))
        if name.argument == "required":
            if not rest:
                raise UnreadableArguments(f"option {letter} without a value")
            plain.append(rest.pop(0))
    return plain + rest


def _split_arguments(words: list[Word], utility: Utility) -> tuple[list[Option], Form]:
    """Options of the whole command, and the form of the files with their own options.

    Raises `UnreadableArguments` if an option of files stands among the files.
    """
    arguments = read_arguments(words, utility)
    if all(option.name in _MODES | _FREE for option in arguments.options):
        return list(arguments.options), (arguments.operands, arguments.protected)
    whole = [o for o in arguments.options if o.name in _MODES | _FREE]
    positional = tuple(o for o in arguments.options if o.name not in _MODES | _FREE)
    if not _precede_operands(words, arguments.operands, utility):
        raise UnreadableArguments("an option among the files")
    return whole, (positional, arguments.operands, arguments.protected)


def _precede_operands(words: list[Word], operands: tuple[Word, ...], utility: Utility) -> bool:
    """Whether every option precedes the first file; `words` are all arguments, `operands` the
    files."""
    count = len(operands)
    tail = words[len(words) - count :] if count else []
    return tuple(tail) == operands and not any(
        word.start.startswith("-") and word.text != "-" for word in tail
    )


def _refuse_rivals(options: Sequence[Option]) -> None:
    """Raise `UnreadableArguments` for an option with two values or for two compressors."""
    for name in {option.name for option in options}:
        values = {option.value for option in options if option.name == name}
        if len(values) > 1:
            raise UnreadableArguments(f"{name} twice")
    compressors = {o.name for o in options if o.name in ("-z", "-j", "-J", "-Z", "-a", "--zstd")}
    if len(compressors) > 1:
        raise UnreadableArguments("two compressors")
