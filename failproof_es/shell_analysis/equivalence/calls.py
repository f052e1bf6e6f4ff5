"""The normal form of simple commands, by the rules of each program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from failproof_es.shell_analysis.equivalence.arguments import (
    Option,
    UnreadableArguments,
    normalize_options,
    read_arguments,
    rules_of,
    settled_operands,
    take_script,
)
from failproof_es.shell_analysis.equivalence.programs import signals
from failproof_es.shell_analysis.equivalence.programs.awk_program import normal_awk
from failproof_es.shell_analysis.equivalence.programs.chmod_mode import (
    normal_mode,
    normal_umask,
    with_plain_modes,
)
from failproof_es.shell_analysis.equivalence.programs.conditional import normal_test
from failproof_es.shell_analysis.equivalence.programs.echo import normal_echo
from failproof_es.shell_analysis.equivalence.programs.find_expression import normal_find
from failproof_es.shell_analysis.equivalence.programs.grep_pattern import without_idle_matcher
from failproof_es.shell_analysis.equivalence.programs.sed_script import normal_script
from failproof_es.shell_analysis.equivalence.programs.tar_arguments import normal_tar
from failproof_es.shell_analysis.equivalence.statements import Statements
from failproof_es.shell_analysis.equivalence.words import (
    Active,
    Expansion,
    Form,
    Word,
    in_order,
    joined,
    literal,
)
from failproof_es.shell_analysis.parse import option_table
from failproof_es.shell_analysis.parse.option_table import Utility
from failproof_es.shell_analysis.parse.shell import Language

APPENDED = Word((Active("arguments appended by xargs"),))
_REPLACED = Active("argument replaced by xargs")
_SYNONYMS = {".": "source", ":": "true"}
_SHELLS: dict[str, Language] = {"sh": "posix", "dash": "posix", "bash": "bash"}


def call_form(words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of a command given as words, of which the first is the program.

    A form that begins with `unknown` means that the program has no rule or that its arguments can't
    be read for certain: then the words themselves are compared. `statements` belong to the script
    of the command: they know its shell and its functions.
    """
    name = words[0].text
    if name is None:
        return ("unknown", "dynamic command", tuple(words))
    name = _SYNONYMS.get(name, name)
    program = name.rpartition("/")[2]
    if "/" in name and not name.startswith(("/bin/", "/usr/bin/", "/usr/local/bin/")):
        program = ""
    if name in statements.context.redefined or "" in statements.context.redefined:
        return ("unknown", f"{name} is redefined", tuple(words))
    instead = option_table.alias(program) if program == name else None
    if instead is not None:
        return call_form((*map(literal, instead), *words[1:]), statements)
    rule = _RULES.get(program, _build_from_table)
    try:
        return rule(name, program, words[1:], statements)
    except UnreadableArguments as why:
        return ("unknown", f"{name}: {why}", (literal(name), *words[1:]))


def _build_from_table(
    name: str, program: str, words: Sequence[Word], statements: Statements
) -> Form:
    """The normal form of a program that has no rule of its own, by the table of options.

    `name` is the program as written, `program` its name in the table, `words` its arguments. Raises
    `UnreadableArguments` if the table lacks it or its arguments can't be read.
    """
    if program == "git" and words and words[0].text is not None:
        return _git(name, words, statements)
    utility = rules_of(program)
    if utility.command is not None:
        return _wrapper(name, words, utility, statements)
    return _form_by_table(name, words, utility, statements)


def _form_by_table(
    name: str, words: Sequence[Word], utility: Utility, statements: Statements
) -> Form:
    arguments = read_arguments(words, utility)
    raw_options, operands = list(arguments.options), arguments.operands
    unsafe: tuple[Word, ...] = ()
    if utility.script:
        raw_options, operands, unsafe = take_script(arguments, utility.script)
    if name == "grep":
        raw_options = without_idle_matcher(raw_options)
    elif name in _MAKERS:
        raw_options = with_plain_modes(raw_options)
    options = normalize_options(raw_options, utility)
    if name == "ls" and not statements.context.to_terminal:
        options = _without_single_column(options, utility)
    guarded = arguments.protected or unsafe
    places = settled_operands(operands, options, utility)
    if name == "chmod" and operands and not arguments.has("--reference"):
        places = (normal_mode(operands[0]), *places[1:])
    return ("call", name, options, places, guarded)


def _without_single_column(options: tuple[Option, ...], utility: Utility) -> tuple[Option, ...]:
    """The options of `ls` without `-1`, which has no effect unless it writes to a terminal."""
    if any(o.name != "-1" and utility.conflict(o.name, "-1") for o in options):
        return options
    return tuple(option for option in options if option.name != "-1")


def _git(name: str, words: Sequence[Word], statements: Statements) -> Form:
    command = words[0].text
    utility = rules_of(f"git {command}", f"git {command}")
    end = next((i for i, word in enumerate(words) if word.text == "--"), len(words))
    form = _form_by_table(f"{name} {command}", words[1:end], utility, statements)
    return (form, "paths", tuple(words[end:])) if end < len(words) else form


def _wrapper(name: str, words: Sequence[Word], utility: Utility, statements: Statements) -> Form:
    """The normal form of a program that runs its operands as a command."""
    arguments = read_arguments(words, utility)
    start = utility.command or 0
    options = normalize_options(arguments.options, utility)
    own, command = arguments.operands[:start], list(arguments.operands[start:])
    if name in ("command", "builtin") and command and command[0].start.startswith("-"):
        raise UnreadableArguments("an option")
    if name == "xargs":
        options, command = _xargs(options, command)
    if not command:
        return ("wrap", name, options, own)
    if name == "sudo":
        return ("wrap", name, options, own, _with_assignments(command, statements))
    return ("wrap", name, options, own, statements.call(command))


def _xargs(
    options: tuple[Option, ...], command: list[Word]
) -> tuple[tuple[Option, ...], list[Word]]:
    """The options of xargs and its command, with marks for appended or replaced arguments.

    The command is `echo` if `command` is empty. Raises `UnreadableArguments` if the text to be
    replaced (`-I`) is computed.
    """
    command = command or [literal("echo")]
    marks = [value for name, value in options if name == "-I"]
    if not marks:
        return options, [*command, APPENDED]
    mark = marks[-1].text if marks[-1] is not None else None
    if not mark:
        raise UnreadableArguments("a computed replacement mark")
    options = tuple(Option(n, literal("{}") if n == "-I" else v) for n, v in options)
    return options, [word.substituted(mark, _REPLACED) for word in command]


def _with_assignments(words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of a command that follows assignments of variables, in the same words."""
    count = 0
    while count < len(words) and "=" in words[count].start:
        count += 1
    call = statements.call(words[count:]) if count < len(words) else ("nothing",)
    return ("variables", tuple(words[:count]), call)


def _env(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    utility = rules_of("env")
    arguments = read_arguments(words, utility)
    if arguments.has("-S"):
        raise UnreadableArguments("-S")
    options = normalize_options(arguments.options, utility)
    return ("wrap", name, options, _with_assignments(arguments.operands, statements))


def _shell(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    if len(words) < 2 or words[0].text != "-c" or words[1].text is None:
        raise UnreadableArguments("not `-c` and a script")
    script = statements.text(words[1].text, _SHELLS[program])
    return ("shell", name, script, tuple(words[2:]))


def _watch(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of `watch`, which gives its operands, joined by spaces, to `sh -c`."""
    utility = rules_of("watch")
    arguments = read_arguments(words, utility)
    texts = [word.text for word in arguments.operands]
    if arguments.has("-x") or None in texts:
        raise UnreadableArguments("a computed command")
    options = normalize_options(arguments.options, utility)
    return ("shell", name, options, statements.text(" ".join(map(str, texts)), "posix"))


def _kill(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of `kill`: the signal, by default 15, and the processes in any order."""
    pending = list(words)
    signal_text = "TERM"
    first = pending[0].start if pending else ""
    if first.startswith("-") and first != "--":
        signal_text = pending.pop(0).text or ""
        if signal_text in ("-s", "-n", "--signal") and pending:
            signal_text = "-" + (pending.pop(0).text or "")
        signal_text = signal_text.removeprefix("--signal=").removeprefix("-")
    signal = signals.signal_number(signal_text)
    if signal is None:
        raise UnreadableArguments(f"signal {signal_text}")
    if pending and pending[0].text == "--":
        del pending[0]
    return ("call", name, signal, in_order(pending))


def _signal_first(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of `pkill`: the signal, and the other arguments by the table of options."""
    signal, rest = "15", []
    for word in words:
        text = word.text or ""
        candidate = text.removeprefix("--signal=") if text.startswith("--signal=") else text[1:]
        number = signals.signal_number(candidate) if text.startswith("-") else None
        if number is not None and candidate.upper() == candidate:
            signal = number
        else:
            rest.append(word)
    return ("signal", signal, _form_by_table(name, rest, rules_of(program), statements))


def _sed(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    utility = rules_of("sed")
    arguments = read_arguments(words, utility)
    raw_options, operands, unsafe = take_script(arguments, ("-e", "-f"))
    scripts = [option for option in raw_options if option.name in ("-e", "-f")]
    other_options = [option for option in arguments.options if option.name not in ("-e", "-f")]
    options = normalize_options(other_options, utility)
    guarded = arguments.protected or unsafe
    return ("call", name, options, normal_script(scripts), operands, guarded)


def _date(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of `date`, abbreviations such as `%F` in its format expanded."""
    written_out = [
        literal(_DATE_FIELD.sub(lambda match: _DATE_FIELDS[match[1]], word.text))
        if word.text is not None and word.text.startswith("+")
        else word
        for word in words
    ]
    return _build_from_table(name, program, written_out, statements)


def _curl(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of `curl`, without `--next`, which separates options of several requests."""
    if read_arguments(words, rules_of("curl")).has("-:"):
        raise UnreadableArguments("--next")
    return _build_from_table(name, program, words, statements)


def _lsof(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of `lsof`, whose `-i` takes the next word unless that begins with a dash."""
    attached: list[Word] = []
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if _ENDS_IN_I.fullmatch(word.text or "") and pending and pending[0].start[:1] != "-":
            if pending[0].begins_unknown:
                raise UnreadableArguments("-i before a computed word")
            word = Word((*word.atoms, *pending.pop(0).atoms))
        attached.append(joined(word.atoms) or word)
    return _build_from_table(name, program, attached, statements)


def _unzip(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of `unzip`, whose `-d` may also stand behind the operands."""
    if len(words) > 2 and words[-2].text == "-d":
        words = (*words[-2:], *words[:-2])
    return _build_from_table(name, program, words, statements)


def _tail(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of `tail`. With one file, `-100f` is `-n 100 -f`."""
    lines = re.fullmatch(r"-([0-9]+)f", (words[0].text or "") if words else "")
    if lines is not None and len(words) <= 2 and all(word.is_one_word for word in words):
        words = (literal("-n"), literal(lines[1]), literal("-f"), *words[1:])
    return _build_from_table(name, program, words, statements)


def _ps(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of `ps`. Letters without a dash may change places, unless two of them
    select a format."""
    letters = ""
    rest = list(words)
    while rest and _BSD_LETTERS.fullmatch(rest[0].text or ""):
        letters += rest.pop(0).text or ""
    if letters and len(set(letters) & set("uljsvX")) <= 1:
        words = (literal("".join(sorted(letters))), *rest)
    return _build_from_table(name, program, words, statements)


def _cd(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    rest = words[1:] if words and words[0].text == "--" else words
    if any(word.start.startswith("-") and word.text != "-" for word in rest):
        raise UnreadableArguments("an option")
    home = Word((Expansion(("$", "HOME"), True),))
    return ("call", name, tuple(rest) or (home,))


def _ordered_words(name: str, program: str, words: Sequence[Word], statements: Statements) -> Form:
    """The normal form of a builtin whose words are compared as written."""
    return ("call", name, tuple(words))


_ENDS_IN_I = re.compile("-[nPtal]*i")
_BSD_LETTERS = re.compile("[auxwfeljsvX]+")
_DATE_FIELDS = {
    "F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y", "h": "%b", "%": "%%",
}  # fmt: skip
_DATE_FIELD = re.compile("%([FTRDh%])")

_MAKERS = frozenset({"mkdir", "mkfifo", "mknod", "install"})

Rule = Callable[[str, str, Sequence[Word], Statements], Form]

_COMPARED_AS_WRITTEN = (
    "printf", "source", "exit", "return", "shift", "unset", "read", "wait", "jobs", "history",
    "break", "continue", "trap", "type", "expr",
)  # fmt: skip
_RULES: dict[str, Rule] = {
    "env": _env,
    **dict.fromkeys(_SHELLS, _shell),
    "watch": _watch,
    "kill": _kill,
    "pkill": _signal_first,
    "sed": _sed,
    "cd": _cd,
    "curl": _curl,
    "lsof": _lsof,
    "unzip": _unzip,
    "tail": _tail,
    "ps": _ps,
    "umask": lambda name, program, words, statements: ("call", name, normal_umask(words)),
    "date": _date,
    "find": normal_find,
    "tar": normal_tar,
    "echo": normal_echo,
    "test": normal_test,
    "[": normal_test,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), normal_awk),
    **dict.fromkeys(_COMPARED_AS_WRITTEN, _ordered_words),
}
